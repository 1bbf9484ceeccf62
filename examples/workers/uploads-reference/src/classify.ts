import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers";
import type { Env, Params } from "./names";

const PATIENT = { retries: { limit: 50, delay: "5 seconds", backoff: "constant" } } as const;

/** Stands for a model: the label depends on the bytes alone. */
const labelOf = (image: string): string => (image.includes("meow") ? "cat" : "something else");

export class Classify extends WorkflowEntrypoint<Env, Params> {
  override async run(event: Readonly<WorkflowEvent<Params>>, step: WorkflowStep): Promise<{ label: string } | null> {
    const { organization, name, key, etag, eventId } = event.payload;
    // A stub whose connection was lost stays broken: every attempt takes a new one.
    const agent = () => this.env.ORGANIZATION.getByName(organization);
    for (let round = 1; ; round++) {
      const label = await step.do(`classify ${round}`, PATIENT, async () => {
        const image = await this.env.PHOTOS.get(key, { onlyIf: { etagMatches: etag } });
        return image && "body" in image ? labelOf(await image.text()) : null;
      });
      if (label !== null) {
        await step.do("persist", PATIENT, async () => agent().finished(eventId, label));
        return { label };
      }
      const verdict = await step.do(`gone ${round}`, PATIENT, async () => agent().imageGone(organization, name, eventId));
      if (verdict === "stop") return null;
    }
  }
}
