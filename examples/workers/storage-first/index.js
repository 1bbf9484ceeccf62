import { DurableObject } from "cloudflare:workers";

export class Cart extends DurableObject {
  async add(item) {
    const items = new Set(await this.ctx.storage.get("items"));
    await this.ctx.storage.put("items", [...items.add(item)].sort());
  }
}

export default {
  async fetch(request, env) {
    await env.CART.getByName("ann").add(await request.text());
    return new Response("added");
  },
};
