// Workflows: the binding, and the steps of a run.
import natives from "thunderhead:natives";
import { decode, encode } from "thunderhead:clone";
import { ask, begin, keep, release } from "thunderhead:operation";

class WorkflowInstance {
  #workflow;
  constructor(workflow, id) {
    this.#workflow = workflow;
    this.id = id;
  }
  async #ask(op, fields = {}) {
    return (await ask({ workflow: { [op]: { workflow: this.#workflow, id: this.id, ...fields } } })).value.workflow;
  }
  async status() {
    const { status, output, error } = (await this.#ask("status")).status;
    const value = output === null ? (status === "complete" ? undefined : null) : decode(output);
    return { status, output: value, error: error ?? undefined };
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
  }
  async sendEvent({ type, payload } = {}) {
    await this.#ask("sendEvent", { eventType: String(type), payload: encode(payload) });
  }
}

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
  async #ask(op, fields) {
    return (await ask({ workflow: { [op]: { workflow: this.#name, ...fields } } })).value.workflow;
  }
  async create(options) {
    const { instance } = await this.#ask("create", { options: optionsOf(options) });
    return new WorkflowInstance(this.#name, instance.id);
  }
  async createBatch(batch) {
    const reply = await this.#ask("createBatch", { batch: Array.from(batch, optionsOf) });
    return reply.batch.created.map((id) => new WorkflowInstance(this.#name, id));
  }
  async get(id) {
    const { instance } = await this.#ask("get", { id: String(id) });
    return new WorkflowInstance(this.#name, instance.id);
  }
}

export class WorkflowStep {
  #number;
  constructor(number) {
    this.#number = number;
  }
  #wait(kind, name, fields) {
    return begin(kind, { step: this.#number, name: String(name), ...fields });
  }
  async do(name, ...rest) {
    const [config, work] = typeof rest[0] === "function" ? [{}, rest[0]] : [rest[0] ?? {}, rest[1]];
    const callback = keep(work);
    try {
      return decode((await this.#wait("step.do", name, { config, callback })).value);
    } finally {
      release(callback);
    }
  }
  async sleep(name, duration) {
    await this.#wait("step.sleep", name, { duration });
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
