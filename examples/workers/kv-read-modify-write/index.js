export default {
  async fetch(request, env) {
    const visitor = new URL(request.url).pathname.slice(1);
    const visitors = (await env.VISITS.get("visitors", "json")) ?? [];
    if (!visitors.includes(visitor)) await env.VISITS.put("visitors", JSON.stringify([...visitors, visitor].sort()));
    return new Response("welcome");
  },
};
