// Queues: producers, and the batch that a consumer is given.
import natives from "thunderhead:natives";
import { encode, decode } from "thunderhead:clone";
import { ask, parse, stringify } from "thunderhead:operation";
import { bufferOf, fromBody, toHex } from "thunderhead:text";

function delayOf(options) {
  const delay = options?.delaySeconds;
  if (delay === undefined || delay === null) return null;
  if (!(delay >= 0)) throw new TypeError("delaySeconds must be a non-negative number");
  return Math.trunc(delay);
}

const needs = (type, wanted, body) => new TypeError(`Content Type "${type}" requires a value of type ${wanted}, but received: ${typeof body}`);

function bodyOf(body, contentType = "json") {
  switch (String(contentType).toLowerCase()) {
    case "json": {
      const data = stringify(body);
      if (data === undefined) throw new TypeError("Message body cannot be undefined");
      return { contentType: "json", data };
    }
    case "text":
      if (typeof body !== "string") throw needs("text", "string", body);
      return { contentType: "text", data: body };
    case "bytes":
      if (!ArrayBuffer.isView(body) && !(body instanceof ArrayBuffer)) throw needs("bytes", "ArrayBufferView", body);
      return { contentType: "bytes", data: { hex: toHex(bufferOf(body)) } };
    case "v8":
      return { contentType: "v8", data: encode(body) };
    default:
      throw new TypeError(`Unsupported queue message content type: ${contentType}`);
  }
}

function metricsOf({ backlogCount, backlogBytes, oldestMessageTimestamp: oldest }) {
  return { backlogCount, backlogBytes, oldestMessageTimestamp: oldest === null || oldest === undefined ? undefined : new Date(natives.epoch + oldest) };
}

const messageOf = (body, options) => ({ body: bodyOf(body, options?.contentType), delaySeconds: delayOf(options) });

export class WorkerQueue {
  #queue;
  constructor(queue) {
    this.#queue = queue;
  }
  async #ask(op, fields) {
    return (await ask({ queue: { [op]: { queue: this.#queue, ...fields } } })).value.queue;
  }
  async send(body, options) {
    const { sent } = await this.#ask("send", { message: messageOf(body, options) });
    return { metadata: { metrics: metricsOf(sent.metrics) } };
  }
  async sendBatch(messages, options) {
    const all = Array.from(messages, (message) => messageOf(message.body, message));
    const { sentBatch } = await this.#ask("sendBatch", { messages: all, delaySeconds: delayOf(options) });
    return { metadata: { metrics: metricsOf(sentBatch.metrics) } };
  }
  async metrics() {
    return metricsOf((await this.#ask("metrics", {})).metrics);
  }
}

function valueOf({ contentType, data }) {
  switch (contentType) {
    case "json":
      return parse(data);
    case "text":
      return data;
    case "bytes":
      return fromBody(data);
    default:
      return decode(data);
  }
}

class Message {
  #invocation;
  #at;
  constructor(invocation, at, { id, timestamp, attempts, body }) {
    this.#invocation = invocation;
    this.#at = at;
    Object.assign(this, { id, timestamp: new Date(timestamp), attempts, body: valueOf(body) });
  }
  ack() {
    natives.ack(this.#invocation, this.#at);
  }
  retry(options) {
    natives.retry(this.#invocation, this.#at, delayOf(options) ?? undefined);
  }
}

export class MessageBatch {
  #invocation;
  constructor(invocation, { queue, messages, metrics }) {
    this.#invocation = invocation;
    Object.assign(this, { queue, metadata: { metrics: metricsOf(metrics) } });
    this.messages = messages.map((message, at) => new Message(invocation, at, message));
  }
  ackAll() {
    natives.ack(this.#invocation);
  }
  retryAll(options) {
    natives.retry(this.#invocation, undefined, delayOf(options) ?? undefined);
  }
}
