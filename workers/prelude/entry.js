// What the host calls: it starts handlers, constructs objects and settles operations.
import natives from "thunderhead:natives";
import { bind, env } from "thunderhead:bindings";
import { decode, encode, structuredClone } from "thunderhead:clone";
import { console } from "thunderhead:console";
import { CryptoKey, crypto } from "thunderhead:crypto";
import * as events from "thunderhead:events";
import { Blob, File, FormData, Headers, Request, Response, fetch } from "thunderhead:http";
import { DurableObjectId } from "thunderhead:object";
import { describe, kept, parse, settle, stringify } from "thunderhead:operation";
import { MessageBatch } from "thunderhead:queue";
import { DurableObjectState } from "thunderhead:storage";
import * as streams from "thunderhead:streams";
import { TextDecoder, TextEncoder, atob, btoa } from "thunderhead:text";
import * as time from "thunderhead:time";
import { URL, URLSearchParams } from "thunderhead:url";
import { WorkflowStep, eventOf } from "thunderhead:workflow";

const { SimulatedDate, random, ...timers } = time;
const { collect, length, streamOf, whole, ...streamClasses } = streams;
const globals = { ...events, ...streamClasses, ...timers, console, crypto, CryptoKey, fetch, structuredClone };
Object.assign(globals, { Blob, File, FormData, Headers, Request, Response, TextDecoder, TextEncoder, URL, URLSearchParams, atob, btoa });
Object.assign(globals, { Date: SimulatedDate, self: globalThis, navigator: { userAgent: "Cloudflare-Workers" } });
for (const [name, value] of Object.entries(globals)) Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
Math.random = random;
// A cache may always miss, and this one does.
globalThis.caches = { default: { match: async () => undefined, put: async () => {}, delete: async () => false }, open: async () => globalThis.caches.default };

let program;
const objects = new Map();

// What was given to `waitUntil`, by invocation.
const waiting = new Map();
let current;

function waitUntilOf(invocation) {
  return (promise) => void (waiting.get(invocation) ?? []).push(Promise.resolve(promise));
}

// `waitUntil` from `cloudflare:workers`, for whichever handler began last.
export const waitUntil = (promise) => waitUntilOf(current)(promise);

function contextOf(invocation) {
  return { waitUntil: waitUntilOf(invocation), passThroughOnException() {}, props: {}, exports: {} };
}

// The default export is an object with handlers, or a class whose instances have them.
function handler(invocation, name) {
  const exported = program.default;
  const target = typeof exported === "function" ? new exported(contextOf(invocation), env) : exported;
  if (typeof target?.[name] !== "function") throw new TypeError(`Handler does not export a ${name}() function.`);
  const given = typeof exported === "function" ? [] : [env, contextOf(invocation)];
  return (event) => target[name](event, ...given);
}

async function answerOf(response) {
  if (!(response instanceof Response)) throw new TypeError("Incorrect type for Promise: the Promise did not resolve to 'Response'.");
  const { status, headers } = response;
  return { head: { status, headers: [...headers] }, body: await response.arrayBuffer() };
}

const RESERVED = ["alarm", "webSocketMessage", "webSocketClose", "webSocketError", "constructor"];

function methodOf(object, method) {
  if (RESERVED.includes(method)) throw new TypeError(`'${method}' is a reserved method and cannot be called over RPC.`);
  if (typeof object[method] !== "function" || Object.hasOwn(object, method) || method in Object.prototype) throw new TypeError(`The RPC receiver does not implement the method "${method}".`);
  return (...args) => object[method](...args);
}

const handlers = {
  async fetch(invocation, { url, method, headers }, bytes) {
    const body = method === "GET" || method === "HEAD" || !bytes.byteLength ? null : bytes;
    const response = await handler(invocation, "fetch")(new Request(url, { method, headers, body }));
    const { head, body: sent } = await answerOf(response);
    return { json: stringify(head), bytes: sent };
  },
  async queue(invocation, batch) {
    await handler(invocation, "queue")(new MessageBatch(invocation, batch));
  },
  async scheduled(invocation, { cron }) {
    await handler(invocation, "scheduled")({ cron, scheduledTime: natives.now(), type: "scheduled", noRetry() {} });
  },
  async rpc(invocation, { object: number, method, args }) {
    const object = objects.get(number);
    if (method !== "fetch") return { json: encode(await methodOf(object, method)(...decode(args)), true) };
    if (typeof object.fetch !== "function") throw new TypeError("Handler does not export a fetch() function.");
    const [head, body] = decode(args);
    const response = await object.fetch(new Request(head.url, { ...head, body: body.byteLength ? body : null }));
    const answer = await answerOf(response);
    return { json: encode([answer.head, answer.body]) };
  },
  async alarm(invocation, { object, retryCount, scheduledTime }) {
    await objects.get(object).alarm({ retryCount, isRetry: retryCount > 0, scheduledTime });
  },
  async workflow(invocation, { className, step, ...event }) {
    const body = new program[className](contextOf(invocation), env);
    return { json: encode(await body.run(eventOf(event), new WorkflowStep(step))) };
  },
  async callback(invocation, { callback }) {
    await kept(callback)();
  },
  async step(invocation, { callback, attempt, step }) {
    return { json: encode(await kept(callback)({ attempt, step: { name: step } })) };
  },
};

// Waits for all that was given to `waitUntil`, also while it was waited for.
async function afterwards(invocation, given) {
  let failed;
  for (let at = 0; at < given.length; at++) {
    await given[at].catch((error) => void (failed ??= describe(error)));
  }
  waiting.delete(invocation);
  natives.waited(invocation, failed);
}

async function run(invocation, kind, argument, bytes) {
  const given = [];
  waiting.set(invocation, given);
  current = invocation;
  try {
    const returned = await handlers[kind](invocation, argument, bytes);
    natives.returned(invocation, returned?.json ?? "", given.length > 0, returned?.bytes);
  } catch (error) {
    natives.thrown(invocation, describe(error));
    given.length = 0;
  }
  if (given.length) await afterwards(invocation, given);
  else waiting.delete(invocation);
}

const HANDLERS = ["fetch", "queue", "scheduled"];
const has = (target, name) => typeof target?.[name] === "function";

export const hooks = {
  settle,
  init(namespace, bindings) {
    program = namespace;
    bind(parse(bindings));
  },
  start(invocation, kind, json, bytes) {
    run(invocation, kind, parse(json), bytes);
  },
  construct(object, className, digits, name) {
    const state = new DurableObjectState(object, new DurableObjectId(digits, name), () => {});
    objects.set(object, new program[className](state, env));
  },
  describe() {
    const exported = typeof program.default === "function" ? program.default.prototype : program.default;
    const classes = Object.entries(program).filter(([name, value]) => name !== "default" && typeof value === "function");
    return stringify({
      handlers: HANDLERS.filter((name) => has(exported, name)),
      classes: classes.map(([name, value]) => ({ name, alarm: has(value.prototype, "alarm"), run: has(value.prototype, "run") })),
    });
  },
};
