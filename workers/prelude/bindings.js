// `env`, from what the configuration declares.
import { DurableObjectNamespace } from "thunderhead:object";
import { part } from "thunderhead:part";
import { WorkerQueue } from "thunderhead:queue";
import { AnalyticsEngineDataset, RateLimit } from "thunderhead:small_bindings";
import { serviceOf } from "thunderhead:service";

export const env = {};

const KINDS = {
  r2: ({ to }) => new (part("thunderhead:r2").R2Bucket)(to),
  queue: ({ to }) => new WorkerQueue(to),
  d1: ({ to }) => new (part("thunderhead:d1").D1Database)(to),
  kv: ({ to }) => new (part("thunderhead:kv").KvNamespace)(to),
  object: ({ to }) => new DurableObjectNamespace(to),
  workflow: ({ to }) => new (part("thunderhead:workflow").Workflow)(to),
  service: ({ to, entrypoint, props }) => serviceOf({ service: to, entrypoint, props }),
  analytics: () => new AnalyticsEngineDataset(),
  rateLimit: ({ limit, period }) => new RateLimit(limit, period),
  mail: ({ name }) => new (part("thunderhead:email").SendEmail)(name),
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
