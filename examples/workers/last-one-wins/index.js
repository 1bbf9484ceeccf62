import { DurableObject } from "cloudflare:workers";

export class Page extends DurableObject {
  async set(title) {
    await this.ctx.storage.put("title", title);
  }
}

export default {
  async fetch(request, env) {
    await env.TITLES.send({ title: await request.text() });
    return new Response("ok");
  },

  async queue(batch, env) {
    for (const { body } of batch.messages) await env.PAGE.getByName("home").set(body.title);
  },
};
