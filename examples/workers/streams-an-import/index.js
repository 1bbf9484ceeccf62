import { DurableObject } from "cloudflare:workers";

export class Stock extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS stock (product TEXT PRIMARY KEY, amount INTEGER)");
  }

  add(product, amount) {
    this.ctx.storage.sql.exec("INSERT INTO stock VALUES (?, ?) ON CONFLICT DO UPDATE SET amount = amount + excluded.amount", product, amount);
  }
}

async function* imported(lines, stock) {
  for (const line of lines) {
    const [product, amount] = line.split(" ");
    await stock.add(product, Number(amount));
    yield new TextEncoder().encode(`imported ${product}\n`);
  }
}

export default {
  async fetch(request, env) {
    const lines = (await request.text()).trim().split("\n");
    return new Response(ReadableStream.from(imported(lines, env.STOCK.getByName("all"))));
  },
};
