import { DurableObject } from "cloudflare:workers";

export class Reminder extends DurableObject {
  async remind(text) {
    await this.ctx.storage.put("text", text);
    await this.ctx.storage.setAlarm(Date.now() + 5_000);
  }

  async alarm() {
    const text = await this.ctx.storage.get("text");
    await this.env.MAILS.put(`${this.ctx.id.name ?? "mail"}/${crypto.randomUUID()}`, text);
    await this.env.MAILS.put("last", text);
  }
}

export default {
  async fetch(request, env) {
    await env.REMINDER.getByName(new URL(request.url).pathname.slice(1)).remind(await request.text());
    return new Response("set");
  },
};
