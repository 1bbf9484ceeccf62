import { DurableObject } from "cloudflare:workers";

export class Stock extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS lines (file TEXT, line INTEGER, product TEXT, amount INTEGER, PRIMARY KEY (file, line))");
  }

  add(file, line, product, amount) {
    this.ctx.storage.sql.exec("INSERT OR IGNORE INTO lines VALUES (?, ?, ?, ?)", file, line, product, amount);
  }
}

async function* imported(file, lines, stock) {
  for (const [number, line] of lines.entries()) {
    const [product, amount] = line.split(" ");
    await stock.add(file, number, product, Number(amount));
    yield new TextEncoder().encode(`imported ${product}\n`);
  }
}

export default {
  async fetch(request, env) {
    const lines = (await request.text()).trim().split("\n");
    const file = new URL(request.url).pathname;
    return new Response(ReadableStream.from(imported(file, lines, env.STOCK.getByName("all"))));
  },
};
