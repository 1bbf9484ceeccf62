import { DurableObject } from "cloudflare:workers";

export class Stock extends DurableObject {
  async take(product, id) {
    const taken = (await this.ctx.storage.get(product)) ?? [];
    await this.env.PRICES.head("list.json");
    if (!taken.includes(id)) await this.ctx.storage.put(product, [...taken, id].sort());
  }
}

export default {
  async fetch(request, env) {
    const [product, id] = new URL(request.url).pathname.slice(1).split("/");
    await env.STOCK.getByName("main").take(product, id);
    return new Response("taken");
  },
};
