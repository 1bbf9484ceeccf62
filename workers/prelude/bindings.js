// `env`, from what the configuration declares.
import { D1Database } from "thunderhead:d1";
import { SendEmail } from "thunderhead:email";
import { KvNamespace } from "thunderhead:kv";
import { DurableObjectNamespace } from "thunderhead:object";
import { WorkerQueue } from "thunderhead:queue";
import { AnalyticsEngineDataset, RateLimit } from "thunderhead:small_bindings";
import { R2Bucket } from "thunderhead:r2";
import { serviceOf } from "thunderhead:service";
import { Workflow } from "thunderhead:workflow";

export const env = {};

const KINDS = {
  r2: ({ to }) => new R2Bucket(to),
  queue: ({ to }) => new WorkerQueue(to),
  d1: ({ to }) => new D1Database(to),
  kv: ({ to }) => new KvNamespace(to),
  object: ({ to }) => new DurableObjectNamespace(to),
  workflow: ({ to }) => new Workflow(to),
  service: ({ to, entrypoint, props }) => serviceOf({ service: to, entrypoint, props }),
  analytics: () => new AnalyticsEngineDataset(),
  rateLimit: ({ limit, period }) => new RateLimit(limit, period),
  mail: ({ name }) => new SendEmail(name),
  version: () => ({ id: "00000000-0000-4000-8000-000000000000", tag: "", timestamp: "2026-01-01T00:00:00.000Z" }),
  value: ({ value }) => value,
  missing: ({ name, what }) => missing(name, what),
};

// A binding that is declared and not simulated: whatever is called on it says so.
function missing(name, what) {
  const refuse = (key) => () => {
    throw new Error(`env.${name}.${String(key)}() was called: ${what} is not simulated yet.`);
  };
  return new Proxy({}, { get: (target, key) => (typeof key === "symbol" || key === "then" ? undefined : refuse(key)) });
}

const values = new Set();
// Whether a binding is a variable or a secret, which are values and no services.
export const isValue = (name) => values.has(name);

export function bind(bindings) {
  for (const binding of bindings) {
    env[binding.name] = KINDS[binding.kind](binding);
    if (binding.kind === "value") values.add(binding.name);
  }
}
