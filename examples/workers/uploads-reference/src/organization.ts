import { DurableObject } from "cloudflare:workers";
import { type Env, type Params, Status, eventIdOf, keyOf } from "./names";

interface Found {
  id: string;
  etag: string;
}

interface Row extends Record<string, SqlStorageValue> {
  eventId: string;
  status: Status;
}

export class Organization extends DurableObject<Env> {
  /** How many looks at each name have been applied in this life. */
  private readonly applied = new Map<string, number>();

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.sql("create table if not exists Upload (name text primary key, eventId text not null, status text not null, label text)");
    this.sql("create table if not exists Stopped (eventId text primary key)");
  }

  /** Something happened to a name: writes down what R2 holds now, and has it classified. */
  async refresh(organization: string, name: string): Promise<void> {
    const found = await this.look(organization, name);
    this.told(name, found);
    if (found && this.row(name)?.status === Status.Queued) await this.start(organization, name, found);
  }

  /** A workflow did not find its bytes. If they are back it tries again, and otherwise it stops. */
  async imageGone(organization: string, name: string, eventId: string): Promise<"again" | "stop"> {
    const found = await this.look(organization, name);
    this.told(name, found);
    if (found?.id === eventId) return "again";
    this.sql("insert or ignore into Stopped values (?)", eventId);
    return "stop";
  }

  finished(eventId: string, label: string): void {
    this.sql("update Upload set status = ?, label = ? where eventId = ?", Status.Done, label, eventId);
    this.sql("delete from Stopped where eventId = ?", eventId);
  }

  /** What R2 holds, to be acted upon before the next `await`: looks are applied in the order of R2's answers. */
  private async look(organization: string, name: string): Promise<Found | null> {
    const key = keyOf(organization, name);
    for (;;) {
      const before = this.applied.get(name) ?? 0;
      const object = await this.env.PHOTOS.head(key);
      if ((this.applied.get(name) ?? 0) === before) {
        this.applied.set(name, before + 1);
        return object && { id: eventIdOf(key, object.etag), etag: object.etag };
      }
    }
  }

  private told(name: string, found: Found | null): void {
    if (!found) this.sql("delete from Upload where name = ?", name);
    else if (this.row(name)?.eventId !== found.id) {
      this.sql("insert or replace into Upload values (?, ?, ?, null)", name, found.id, Status.Queued);
    }
  }

  private async start(organization: string, name: string, { id, etag }: Found): Promise<void> {
    const params: Params = { organization, name, key: keyOf(organization, name), etag, eventId: id };
    try {
      await this.env.CLASSIFY.create({ id, params });
    } catch (error) {
      if (!/already exists/.test((error as Error).message)) throw error;
      await this.takeOver(id);
    }
    this.sql("update Upload set status = ? where eventId = ? and status = ?", Status.Running, id, Status.Queued);
  }

  /** The same bytes were there before: their workflow runs, has a result, or was told to stop and starts again. */
  private async takeOver(id: string): Promise<void> {
    const instance = await this.env.CLASSIFY.get(id);
    const { status, output } = await instance.status();
    const label = (output as { label: string } | null | undefined)?.label;
    if (status === "complete" && label !== undefined) return this.finished(id, label);
    if (status === "complete" || status === "errored" || status === "terminated") {
      await instance.restart();
      this.sql("delete from Stopped where eventId = ?", id);
    } else if (this.sql("select 1 from Stopped where eventId = ?", id).length > 0) {
      throw new Error(`${id} is about to stop`);
    }
  }

  private row(name: string): Row | undefined {
    return this.sql<Row>("select eventId, status from Upload where name = ?", name)[0];
  }

  private sql<T extends Record<string, SqlStorageValue>>(query: string, ...bindings: SqlStorageValue[]): T[] {
    return this.ctx.storage.sql.exec<T>(query, ...bindings).toArray();
  }
}
