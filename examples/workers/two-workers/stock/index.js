import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";

export class Shelf extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS reserved (id TEXT PRIMARY KEY, amount INTEGER NOT NULL)");
  }
  reserve(id, amount) {
    const { sql } = this.ctx.storage;
    sql.exec("INSERT INTO reserved (id, amount) VALUES (?, ?) ON CONFLICT DO NOTHING", id, amount);
    return 10 - sql.exec("SELECT sum(amount) AS amount FROM reserved").one().amount;
  }
}

export class Stock extends WorkerEntrypoint {
  reserve(product, id, amount) {
    return this.env.SHELF.getByName(product).reserve(id, amount);
  }
}

export default {
  fetch: () => new Response("only other Workers are served", { status: 404 }),
};
