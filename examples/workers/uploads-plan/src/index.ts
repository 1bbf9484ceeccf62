import { DurableObject, WorkflowEntrypoint } from "cloudflare:workers";
import type { WorkflowEvent, WorkflowStep } from "cloudflare:workers";

interface Env {
  PHOTOS: R2Bucket;
  ORGANIZATION: DurableObjectNamespace<Organization>;
  CLASSIFY: Workflow<Upload>;
}

interface Upload {
  organization: string;
  name: string;
  key: string;
  eventId: string;
}

interface Notification {
  action: "PutObject" | "DeleteObject" | string;
  object: { key: string; eTag?: string };
}

export class Organization extends DurableObject<Env> {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    ctx.storage.sql.exec(
      "create table if not exists Upload (name text primary key, eventId text not null, status text not null, label text)",
    );
  }

  /** Writes the row, then starts the workflow. */
  async ingest(upload: Upload): Promise<void> {
    const sql = this.ctx.storage.sql;
    const known = sql.exec<{ eventId: string }>("select eventId from Upload where name = ?", upload.name).toArray()[0];
    if (known?.eventId === upload.eventId) return;
    sql.exec("insert or replace into Upload values (?, ?, 'queued', null)", upload.name, upload.eventId);
    await this.env.CLASSIFY.create({ id: upload.eventId, params: upload });
    sql.exec("update Upload set status = 'running' where eventId = ?", upload.eventId);
  }

  remove(name: string): void {
    this.ctx.storage.sql.exec("delete from Upload where name = ?", name);
  }

  persist(name: string, label: string): void {
    this.ctx.storage.sql.exec("update Upload set status = 'done', label = ? where name = ?", label, name);
  }
}

export class Classify extends WorkflowEntrypoint<Env, Upload> {
  async run(event: WorkflowEvent<Upload>, step: WorkflowStep) {
    const { organization, name, key } = event.payload;
    const image = await step.do("load-image", async () => {
      const object = await this.env.PHOTOS.get(key);
      if (!object) throw new Error("the image is not there");
      return object.text();
    });
    const label = await step.do("classify-image", async () => (image.includes("meow") ? "cat" : "something else"));
    await step.do("persist-result", async () => this.env.ORGANIZATION.getByName(organization).persist(name, label));
  }
}

export default {
  async fetch(request, env) {
    const key = new URL(request.url).pathname.slice(1);
    if (request.method === "DELETE") await env.PHOTOS.delete(key);
    else await env.PHOTOS.put(key, await request.text());
    return new Response("accepted", { status: 202 });
  },

  async queue(batch, env) {
    for (const { body } of batch.messages) {
      const [organization, name] = body.object.key.split("/");
      const agent = env.ORGANIZATION.getByName(organization!);
      if (body.action === "DeleteObject") {
        await agent.remove(name!);
      } else {
        const eventId = `${name!.replace(/\W/g, "_")}-${body.object.eTag}`;
        await agent.ingest({ organization: organization!, name: name!, key: body.object.key, eventId });
      }
    }
  },
} satisfies ExportedHandler<Env, Notification>;
