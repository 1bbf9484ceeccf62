export default {
  async fetch(request, env) {
    const path = new URL(request.url).pathname.slice(1);
    const text = await request.text();
    await env.NOTES.put(path, text);
    env.EVENTS.send({ path, size: text.length });
    return new Response("stored", { status: 201 });
  },

  async queue(batch, env) {
    await env.DB.prepare("CREATE TABLE IF NOT EXISTS notes (path TEXT PRIMARY KEY, size INTEGER)").run();
    for (const { body } of batch.messages) {
      await env.DB.prepare("INSERT OR REPLACE INTO notes VALUES (?, ?)").bind(body.path, body.size).run();
    }
  },
};
