export default {
  async fetch(request, env) {
    const key = `uploads/${crypto.randomUUID()}`;
    await env.FILES.put(key, await request.arrayBuffer());
    await env.DB.prepare("CREATE TABLE IF NOT EXISTS files (name TEXT PRIMARY KEY, key TEXT)").run();
    await env.DB.prepare("INSERT OR REPLACE INTO files VALUES (?, ?)").bind(new URL(request.url).pathname, key).run();
    return Response.json({ key }, { status: 201 });
  },
};
