export default {
  async fetch(request, env) {
    const key = `uploads/${crypto.randomUUID()}`;
    await env.FILES.put(key, await request.arrayBuffer());
    await env.DB.prepare("CREATE TABLE IF NOT EXISTS files (key TEXT PRIMARY KEY, name TEXT)").run();
    await env.DB.prepare("INSERT INTO files VALUES (?, ?)").bind(key, new URL(request.url).pathname).run();
    return Response.json({ key }, { status: 201 });
  },
};
