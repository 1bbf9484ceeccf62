export default {
  async fetch(request, env) {
    const visitor = new URL(request.url).pathname.slice(1);
    if (request.method === "GET") {
      const { keys } = await env.VISITS.list({ prefix: "visitors/" });
      return Response.json(keys.length);
    }
    await env.VISITS.put(`visitors/${visitor}`, "here");
    return new Response("welcome");
  },
};
