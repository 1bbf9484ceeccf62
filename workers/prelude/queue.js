// Queues: producers, and the batch that a consumer is given.
import natives from "thunderhead:natives";
import { encode, decode } from "thunderhead:clone";
import { ask, jsonOf, parse, showMethods } from "thunderhead:operation";
import { bufferOf, fromBody, toHex } from "thunderhead:text";

// The language's own class: that of the program is a proxy, which takes longer.
const { Date } = globalThis;

function delayOf(options) {
  const delay = options?.delaySeconds;
  if (delay === undefined || delay === null) return null;
  if (!(delay >= 0)) throw new TypeError("delaySeconds must be a non-negative number");
  return Math.trunc(delay);
}

const needs = (type, wanted, body) => new TypeError(`Content Type "${type}" requires a value of type ${wanted}, but received: ${typeof body}`);

function bodyOf(body, contentType = "json") {
  if (body === undefined) throw new TypeError("Message body cannot be undefined");
  switch (String(contentType).toLowerCase()) {
    case "json": {
      const data = jsonOf(body);
      if (data === undefined) throw new Error("Unknown Internal Error (15000)");
      return { contentType: "json", data };
    }
    case "text":
      if (typeof body !== "string") throw needs("text", "string", body);
      return { contentType: "text", data: body };
    case "bytes":
      if (!ArrayBuffer.isView(body)) throw needs("bytes", "ArrayBufferView", body);
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
  #ask(op, fields) {
    return ask({ queue: { [op]: { queue: this.#queue, ...fields } } });
  }
  async send(body, options) {
    const { sent } = (await this.#ask("send", { message: messageOf(body, options) })).value.queue;
    return { metadata: { metrics: metricsOf(sent.metrics) } };
  }
  async sendBatch(messages, options) {
    const all = Array.from(messages, (message) => messageOf(message.body, message));
    const { sentBatch } = (await this.#ask("sendBatch", { messages: all, delaySeconds: delayOf(options) })).value.queue;
    return { metadata: { metrics: metricsOf(sentBatch.metrics) } };
  }
  async metrics() {
    return metricsOf((await this.#ask("metrics", {})).value.queue.metrics);
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

// A delay as the runtime reads it: a number that is cut to an integer.
const retryDelay = (options) => {
  const delay = options?.delaySeconds;
  return delay === undefined || delay === null ? undefined : Math.max(0, Math.trunc(Number(delay)) || 0);
};

class QueueMessage {
  #controller;
  #at;
  constructor(controller, at, { id, timestamp, attempts }, body) {
    this.#controller = controller;
    this.#at = at;
    this.attempts = attempts;
    this.body = body;
    this.timestamp = new Date(timestamp);
    this.id = id;
  }
  retry(options) {
    this.#controller.retry(this.#at, retryDelay(options));
  }
  ack() {
    this.#controller.ack(this.#at);
  }
}
showMethods(QueueMessage, "retry", "ack");

class QueueController {
  #controller;
  constructor(controller, { queue, messages, metrics }, read) {
    this.#controller = controller;
    this.metadata = { metrics };
    this.queue = queue;
    this.messages = messages.map((message, at) => new QueueMessage(controller, at, message, read(message.body)));
  }
  retryAll(options) {
    this.#controller.retry(undefined, retryDelay(options));
  }
  ackAll() {
    this.#controller.ack();
  }
}
showMethods(QueueController, "retryAll", "ackAll");

// A batch that a queue delivers: the host settles it.
export function delivered(invocation, { queue, messages, metrics }) {
  const controller = {
    ack: (at) => (at === undefined ? natives.ack(invocation) : natives.ack(invocation, at)),
    retry: (at, delay) => natives.retry(invocation, at, delay),
  };
  return new QueueController(controller, { queue, messages, metrics: metricsOf(metrics) }, valueOf);
}

// A batch that a Worker hands to another one: what was settled is the answer.
export function handed(queue, messages) {
  const settled = { ackAll: false, retryBatch: { retry: false, delaySeconds: undefined }, explicitAcks: [], retryMessages: [] };
  const all = () => settled.ackAll || settled.retryBatch.retry;
  const controller = {
    ack(at) {
      if (all()) return;
      if (at === undefined) settled.ackAll = true;
      else if (!settled.retryMessages.some(({ msgId }) => msgId === messages[at].id)) settled.explicitAcks.push(messages[at].id);
    },
    retry(at, delaySeconds) {
      if (all()) return;
      if (at === undefined) return void (settled.retryBatch = { retry: true, delaySeconds });
      const msgId = messages[at].id;
      if (settled.explicitAcks.includes(msgId)) return;
      const others = settled.retryMessages.filter((known) => known.msgId !== msgId);
      settled.retryMessages = [...others, { msgId, delaySeconds }];
    },
  };
  const metrics = { backlogCount: 0, backlogBytes: 0, oldestMessageTimestamp: undefined };
  return { batch: new QueueController(controller, { queue, messages, metrics }, (body) => body), settled };
}
