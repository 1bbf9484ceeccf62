import { DurableObject } from "cloudflare:workers";

export class Ledger extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS imports (name TEXT PRIMARY KEY)");
  }

  // Whether the import is new.
  register(name) {
    return this.ctx.storage.sql.exec("INSERT OR IGNORE INTO imports VALUES (?) RETURNING name", name).toArray().length === 1;
  }
}

export default {
  async fetch(request, env) {
    await env.IMPORTS.send({ name: new URL(request.url).pathname.slice(1), text: await request.text() });
    return new Response("accepted", { status: 202 });
  },

  async queue(batch, env) {
    for (const { body } of batch.messages) {
      if (await env.LEDGER.getByName("main").register(body.name)) {
        await env.FILES.put(body.name, body.text);
      }
    }
  },
};
