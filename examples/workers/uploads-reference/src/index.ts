import { type Env, type Notification, parseKey } from "./names";

export { Classify } from "./classify";
export { Organization } from "./organization";

export default {
  async fetch(request, env): Promise<Response> {
    const key = new URL(request.url).pathname.slice(1);
    if (!parseKey(key)) return new Response("not found", { status: 404 });
    switch (request.method) {
      case "PUT":
        await env.PHOTOS.put(key, await request.text());
        return new Response("stored", { status: 202 });
      case "DELETE":
        await env.PHOTOS.delete(key);
        return new Response("deleted", { status: 202 });
      default:
        return new Response("not allowed", { status: 405 });
    }
  },

  async queue(batch, env): Promise<void> {
    for (const message of batch.messages) {
      try {
        const place = parseKey(message.body.object.key);
        if (place) await env.ORGANIZATION.getByName(place[0]).refresh(...place);
        message.ack();
      } catch (error) {
        console.warn(`message ${message.id} fails: ${error}`);
        message.retry();
      }
    }
  },
} satisfies ExportedHandler<Env, Notification>;
