import { DurableObject, WorkflowEntrypoint } from "cloudflare:workers";

export class Account extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS charges (number INTEGER PRIMARY KEY, cents INTEGER)");
  }

  charge(cents) {
    this.ctx.storage.sql.exec("INSERT INTO charges (cents) VALUES (?)", cents);
  }
}

export class Checkout extends WorkflowEntrypoint {
  async run(event, step) {
    const { user, cents } = event.payload;
    await this.env.ACCOUNT.getByName(user).charge(cents);
    await step.sleep("cool off", "5 seconds");
    await step.do("receipt", async () => {
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
      // The order may have been placed by an attempt whose answer was lost.
      if (!/already.exists/i.test(error.message)) throw error;
      await env.CHECKOUT.get(id);
    }
    return new Response("accepted", { status: 202 });
  },
};
