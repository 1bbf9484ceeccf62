// The example `uploads-reference` with what the emulator lacks and what a measurement needs: R2 does not tell the queue
// of a put here, so the Worker does, and `GET /ORG` lists what became of the uploads.
import worker, { Classify, Organization as Reference } from "../../../examples/workers/uploads-reference/src/index";

export { Classify };

export class Organization extends Reference {
  list() {
    return this.ctx.storage.sql.exec("select name, status, label from Upload").toArray();
  }
}

export default {
  ...worker,
  async fetch(request: Request, env: any): Promise<Response> {
    const key = new URL(request.url).pathname.slice(1);
    if (request.method === "GET") {
      const body = JSON.stringify(await env.ORGANIZATION.getByName(key).list());
      return new Response(body, { headers: { "content-length": String(body.length) } });
    }
    const response = await worker.fetch(request, env);
    if (response.ok) await env.UPLOADS.send({ action: "PutObject", bucket: "photos", object: { key } });
    return response;
  },
};
