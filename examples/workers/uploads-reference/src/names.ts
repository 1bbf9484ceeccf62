import type { Organization } from "./organization";

export interface Env {
  PHOTOS: R2Bucket;
  ORGANIZATION: DurableObjectNamespace<Organization>;
  CLASSIFY: Workflow<Params>;
}

/** What a workflow is told. */
export interface Params {
  organization: string;
  name: string;
  key: string;
  etag: string;
  eventId: string;
}

/** What R2 tells the queue. */
export interface Notification {
  action: string;
  bucket: string;
  object: { key: string; eTag?: string };
}

export enum Status {
  Queued = "queued",
  Running = "running",
  Done = "done",
}

export const keyOf = (organization: string, name: string): string => `${organization}/${name}`;

export function parseKey(key: string): [organization: string, name: string] | null {
  const slash = key.indexOf("/");
  return slash < 1 ? null : [key.slice(0, slash), key.slice(slash + 1)];
}

/** The same for the same bytes under the same key; fit to be the id of a workflow. */
export const eventIdOf = (key: string, etag: string): string =>
  `${key.replace(/[^A-Za-z0-9]/g, (sign) => `_${sign.charCodeAt(0).toString(16)}`)}-${etag}`;
