// Workflows: the binding, and the steps of a run.
import natives from "thunderhead:natives";
import { decode, encode, encodeStep } from "thunderhead:clone";
import { Request, Response } from "thunderhead:http";
import { ask, begin, isCircular, jsonOf, keep, release } from "thunderhead:operation";
import { ReadableStream } from "thunderhead:readable_stream";
import { toHex } from "thunderhead:text";

// Values as `status()` shows them: as JSON, with names for what JSON has not.
function shown(value) {
  if (typeof value === "bigint") return `[BigInt(${value})]`;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.constructor.name}(${value.byteLength} bytes)]`;
  if (value instanceof Date) return value.toISOString();
  if (typeof value === "number" && !Number.isFinite(value)) return null;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((part) => shown(part) ?? null);
  return Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined).map(([key, part]) => [key, shown(part)]));
}

// The results of steps, by instance: the local runtime tells them with the status.
const outputs = new Map();

class InstanceImpl {
  #workflow;
  constructor(workflow, id) {
    this.id = id;
    this.binding = undefined;
    this.#workflow = workflow;
  }
  #ask(op, fields = {}) {
    return ask({ workflow: { [op]: { workflow: this.#workflow, id: this.id, ...fields } } });
  }
  get #key() {
    return `${this.#workflow}/${this.id}`;
  }
  async status() {
    const { status, output, error } = (await this.#ask("status")).value.workflow.status;
    const told = { status, output: output === null ? null : (shown(decode(output)) ?? null), error: error ?? undefined };
    if (natives.local()) told.__LOCAL_DEV_STEP_OUTPUTS = [...(outputs.get(this.#key)?.values() ?? [])].map(shown);
    return told;
  }
  async pause() {
    await this.#ask("pause");
  }
  async resume() {
    await this.#ask("resume");
  }
  async terminate() {
    await this.#ask("terminate");
  }
  async delete() {
    await this.#ask("delete");
  }
  async restart(options) {
    const from = options?.from && { name: options.from.name, count: options.from.count ?? null, kind: options.from.type ?? null };
    await this.#ask("restart", { from: from ?? null });
    if (!from) outputs.delete(this.#key);
  }
  async sendEvent({ type, payload } = {}) {
    await this.#ask("sendEvent", { eventType: String(type), payload: encode(payload) });
  }
}

function notSimulated(Class, what, names) {
  for (const name of names) {
    const refuse = async () => {
      throw new Error(`${what}.${name}() is not simulated.`);
    };
    Object.defineProperty(Class.prototype, name, { value: refuse, writable: true, configurable: true });
  }
}
notSimulated(InstanceImpl, "WorkflowInstance", ["getInstance", "subscribe"]);

const retentionOf = ({ successRetention = null, errorRetention = null } = {}) => ({ successRetention, errorRetention });

function optionsOf({ id, params, retention } = {}) {
  // What is no text is no id either, and the service refuses both in the same way.
  const name = id === undefined ? null : typeof id === "string" ? id : "";
  return { id: name, params: params === undefined ? null : encode(params), retention: retentionOf(retention) };
}

export class Workflow {
  #name;
  constructor(name) {
    this.#name = name;
  }
  #ask(op, fields) {
    return ask({ workflow: { [op]: { workflow: this.#name, ...fields } } });
  }
  async create(options) {
    const { instance } = (await this.#ask("create", { options: optionsOf(options) })).value.workflow;
    return new InstanceImpl(this.#name, instance.id);
  }
  async createBatch(batch) {
    const reply = (await this.#ask("createBatch", { batch: Array.from(batch, optionsOf) })).value.workflow;
    return reply.batch.created.map((id) => new InstanceImpl(this.#name, id));
  }
  async get(id) {
    const { instance } = (await this.#ask("get", { id: String(id) })).value.workflow;
    return new InstanceImpl(this.#name, instance.id);
  }
}

notSimulated(Workflow, "Workflow", ["deleteBatch"]);

const FATAL = "WorkflowFatalError";
const fatal = (message) => Object.assign(new Error(message), { name: FATAL });
const unwritable = (name) => `The execution of the Workflow instance was terminated, as the step "${name}" returned a value which is not serialisable`;

const isHandle = (value) => typeof value === "function" || value instanceof Response || value instanceof Request || value instanceof ReadableStream;

// What a step is done with if it says nothing.
const DEFAULTS = { retries: { limit: 5, delay: 1000, backoff: "exponential" }, timeout: "10 minutes" };

// What the function of a step is given.
export const stepContext = ({ name, count, config }, attempt) => ({ step: { name, count }, attempt, config: { ...DEFAULTS, ...config, retries: { ...DEFAULTS.retries, ...config.retries } } });

function configOf(config) {
  const limit = config.retries?.limit;
  const whole = typeof limit === "number" && Number.isFinite(limit) ? Math.trunc(limit) : limit;
  return config.retries ? { ...config, retries: { ...config.retries, limit: whole } } : config;
}

export class WorkflowStep {
  #number;
  #counts = new Map();
  #key;
  constructor(number, { name, id }) {
    this.#number = number;
    this.#key = `${name}/${id}`;
  }
  async #wait(kind, name, fields) {
    try {
      return await begin(kind, { step: this.#number, name: String(name), ...fields });
    } catch (error) {
      // Steps are done by an object of the platform's own.
      const durableObjectId = toHex(natives.digest("SHA-256", natives.encode(this.#key)));
      throw Object.assign(error, { durableObjectId, remote: true });
    }
  }
  async do(name, ...rest) {
    const [config, work] = typeof rest[0] === "function" ? [{}, rest[0]] : [rest[0] ?? {}, rest[1]];
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    const written = (value) => {
      if (isHandle(value)) throw fatal(unwritable(name));
      return encodeStep(value);
    };
    const callback = keep({ work, name: String(name), count, config, written });
    try {
      const result = decode((await this.#wait("step.do", name, { config: configOf(config), callback })).value);
      // The engine shows results as JSON.
      if (isCircular(result)) jsonOf(result);
      if (natives.local()) this.#outputs().set(`${name} ${count}`, result);
      return result;
    } catch (error) {
      // It ends the instance, whatever the body makes of it.
      throw error.message === `${FATAL}: ${unwritable(name)}` ? fatal(unwritable(name)) : error;
    } finally {
      release(callback);
    }
  }
  #outputs() {
    if (!outputs.has(this.#key)) outputs.set(this.#key, new Map());
    return outputs.get(this.#key);
  }
  async sleep(name, duration) {
    await this.#wait("step.sleep", name, { duration: typeof duration === "number" ? Math.max(0, Math.trunc(duration)) : duration });
  }
  async sleepUntil(name, until) {
    await this.#wait("step.sleepUntil", name, { until: Number(until) });
  }
  async waitForEvent(name, { type, timeout = null }) {
    const { payload, timestamp } = (await this.#wait("step.waitForEvent", name, { eventType: String(type), timeout })).value;
    return { payload: decode(payload), timestamp: new Date(timestamp), type };
  }
}

export const eventOf = ({ payload, timestamp, id, name }) => ({ payload: decode(payload), timestamp: new Date(timestamp), instanceId: id, workflowName: name });
