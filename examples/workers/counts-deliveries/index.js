import { DurableObject } from "cloudflare:workers";

export class Sales extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS sold (product TEXT PRIMARY KEY, amount INTEGER)");
  }

  add(product, amount) {
    this.ctx.storage.sql.exec(
      "INSERT INTO sold VALUES (?, ?) ON CONFLICT (product) DO UPDATE SET amount = amount + excluded.amount",
      product,
      amount,
    );
  }
}

export default {
  async fetch(request, env) {
    await env.ORDERS.send(await request.json());
    return new Response("accepted", { status: 202 });
  },

  async queue(batch, env) {
    for (const { body } of batch.messages) {
      await env.SALES.getByName("shop").add(body.product, body.amount);
    }
  },
};
