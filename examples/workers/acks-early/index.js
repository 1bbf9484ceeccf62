export default {
  async fetch(request, env) {
    await env.JOBS.send({ name: new URL(request.url).pathname.slice(1), text: await request.text() });
    return new Response("accepted", { status: 202 });
  },

  async queue(batch, env) {
    for (const message of batch.messages) {
      message.ack();
      await env.REPORTS.put(message.body.name, message.body.text.toUpperCase());
    }
  },
};
