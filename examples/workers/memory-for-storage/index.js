import { DurableObject } from "cloudflare:workers";

export class Cart extends DurableObject {
  items = new Set();

  async add(item) {
    this.items.add(item);
    await this.ctx.storage.put("items", [...this.items].sort());
  }
}

export default {
  async fetch(request, env) {
    await env.CART.getByName("ann").add(await request.text());
    return new Response("added");
  },
};
