import { DurableObject } from "cloudflare:workers";

export class Sales extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, product TEXT, amount INTEGER)");
  }

  add({ id, product, amount }) {
    this.ctx.storage.sql.exec("INSERT OR IGNORE INTO orders VALUES (?, ?, ?)", id, product, amount);
  }
}

export default {
  async fetch(request, env) {
    await env.ORDERS.send(await request.json());
    return new Response("accepted", { status: 202 });
  },

  async queue(batch, env) {
    for (const message of batch.messages) {
      await env.SALES.getByName("shop").add(message.body);
      message.ack();
    }
  },
};
