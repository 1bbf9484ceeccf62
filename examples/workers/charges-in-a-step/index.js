import { DurableObject, WorkflowEntrypoint } from "cloudflare:workers";

export class Account extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS charges (id TEXT PRIMARY KEY, cents INTEGER)");
  }

  charge(id, cents) {
    this.ctx.storage.sql.exec("INSERT OR IGNORE INTO charges VALUES (?, ?)", id, cents);
  }
}

const PATIENT = { retries: { limit: 20, delay: "5 seconds", backoff: "constant" } };

export class Checkout extends WorkflowEntrypoint {
  async run(event, step) {
    const { user, cents } = event.payload;
    await step.do("charge", PATIENT, async () => {
      await this.env.ACCOUNT.getByName(user).charge(event.instanceId, cents);
    });
    await step.sleep("cool off", "5 seconds");
    await step.do("receipt", PATIENT, async () => {
      await this.env.RECEIPTS.put(event.instanceId, `paid ${cents}`);
    });
  }
}

export default {
  async fetch(request, env) {
    const { id, ...params } = await request.json();
    try {
      await env.CHECKOUT.create({ id, params });
    } catch (error) {
      if (!/already.exists/i.test(error.message)) throw error;
      await env.CHECKOUT.get(id);
    }
    return new Response("accepted", { status: 202 });
  },
};
