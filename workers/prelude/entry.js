// What the host calls: it starts handlers, constructs objects and settles operations.
import "thunderhead:stack";
import "thunderhead:localized";
import natives from "thunderhead:natives";
import { bind, env } from "thunderhead:bindings";
import { decode, decodeArguments, encode, encodeCall, encodeValue, keepErrors, structuredClone } from "thunderhead:clone";
import { console } from "thunderhead:console";
import { CryptoKey, crypto } from "thunderhead:crypto";
import { DOMException } from "thunderhead:dom_exception";
import * as events from "thunderhead:events";
import { Blob, File, FormData, Headers, Request, Response, WEB_SOCKET, fetch, requestOf } from "thunderhead:http";
import { DurableObjectId } from "thunderhead:object";
import { describe, kept, parse, settle, showMethods, stringify } from "thunderhead:operation";
import { defineGlobal, loadNamed, part } from "thunderhead:part";
import { delivered, handed } from "thunderhead:queue";
import { serve } from "thunderhead:rpc";
import { received, routeOf, serviceOf } from "thunderhead:service";
import { addEventListener, modernized } from "thunderhead:service_worker";
import { DurableObjectState } from "thunderhead:storage";
import { endStreams, sentBy, withStream } from "thunderhead:streamed";
import * as streams from "thunderhead:streams";
import { TextDecoder, TextEncoder, atob, btoa } from "thunderhead:text";
import * as time from "thunderhead:time";
import { URL, URLSearchParams } from "thunderhead:url";
import { WebSocket, WebSocketPair, WebSocketRequestResponsePair, endInvocation, keptOpenBy, sendAway, socketAt } from "thunderhead:web_socket";
import { CLASSES, tagged, things } from "thunderhead:globals";
import { missing } from "thunderhead:missing";
import { setImmediate, setInterval, setTimeout } from "thunderhead:timeout";

// What the timers of Node return.
const timeouts = { setImmediate, setInterval, setTimeout };
const { SimulatedDate, inUse, random, ...timers } = time;
const globals = { ...events, ...streams, ...timers, console, crypto, CryptoKey, DOMException, fetch, structuredClone };
Object.assign(globals, { Blob, File, FormData, Headers, Request, Response, TextDecoder, TextEncoder, URL, URLSearchParams, atob, btoa });
Object.assign(globals, { WebSocket, WebSocketPair, WebSocketRequestResponsePair, ...missing });
Object.assign(globals, { Date: SimulatedDate, self: globalThis, ...CLASSES, ...things });
Object.assign(globals, { addEventListener, removeEventListener() {}, reportError: (error) => console.error(error) });
for (const [name, value] of Object.entries(globals)) Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
Math.random = random;
for (const name of ["dispose", "asyncDispose"]) {
  if (!Symbol[name]) Object.defineProperty(Symbol, name, { value: Symbol(`Symbol.${name}`) });
}
const { Date: ofTheLanguage, ...ours } = globals;
tagged(ours);
function lateClass(name, from) {
  defineGlobal(name, () => {
    const { [name]: Class } = part(from);
    tagged({ [name]: Class });
    return Class;
  });
}
lateClass("HTMLRewriter", "thunderhead:html_rewriter");
lateClass("URLPattern", "thunderhead:url_pattern");
defineGlobal("Intl", () => part("thunderhead:intl").Intl);

let program;
let worker;
const objects = new Map();

// What was given to `waitUntil`, by invocation.
const waiting = new Map();
let current;

// `waitUntil` from `cloudflare:workers`, for whichever handler began last.
export const waitUntil = (promise) => waitUntilOf(current, promise);

const waitUntilOf = (invocation, promise) => void (waiting.get(invocation) ?? []).push(Promise.resolve(promise));

class ExecutionContext {
  #invocation;
  constructor(invocation, props) {
    this.#invocation = invocation;
    this.props = props;
    this.exports = exports;
  }
  waitUntil(promise) {
    waitUntilOf(this.#invocation, promise);
  }
  passThroughOnException() {}
}

// `ctx.exports`: every entrypoint of the program as a binding, which takes properties when it is called.
function exportsOf() {
  const entrypoint = (name) => {
    const to = (props) => serviceOf({ service: worker, entrypoint: name === "default" ? null : name, props });
    const plain = to({});
    return new Proxy(function () {}, { get: (target, key) => plain[key], apply: (target, self, [options]) => to(options?.props ?? {}) });
  };
  const get = (target, key) => (typeof key === "symbol" || !(key in program) ? undefined : (target[key] ??= entrypoint(key)));
  const getOwnPropertyDescriptor = (target, key) => {
    const value = get(target, key);
    return value && { value, enumerable: true, configurable: true, writable: true };
  };
  return new Proxy({}, { get, has: (target, key) => key in program, ownKeys: () => Object.keys(program), getOwnPropertyDescriptor });
}

// `exports` from `cloudflare:workers`.
export const exports = exportsOf();

// The entrypoint of that name, or the default one: an object with handlers, or a class whose instances have them.
function entrypointOf(invocation, name, props) {
  const exported = program[name ?? "default"];
  if (exported === undefined) throw new TypeError(`The Worker has no entrypoint "${name}".`);
  const ctx = new ExecutionContext(invocation, props);
  return typeof exported === "function" ? { target: new exported(ctx, env), given: [] } : { target: exported, given: [env, ctx] };
}

function handler(invocation, name, { entrypoint = null, props = {} } = {}) {
  const { target, given } = entrypointOf(invocation, entrypoint, props);
  if (typeof target?.[name] !== "function") throw Object.assign(new (name === "fetch" ? Error : TypeError)(`Handler does not export a ${name}() function.`));
  return (event) => target[name](event, ...(given.length ? given : [env, target.ctx]));
}

async function answerOf(response, request) {
  if (!(response instanceof Response)) throw new TypeError("Incorrect type for Promise: the Promise did not resolve to 'Response'.");
  if (response.type === "error") throw new TypeError("Return value from serve handler must not be an error response (like Response.error())");
  if (!response.bodyUsed && response.isRead()) throw new TypeError("The ReadableStream has been locked to a reader.");
  const { status, webSocket } = response;
  const isHead = request.method === "HEAD";
  const unread = response.unfinished();
  // Who asks for the head alone is not sent the rest.
  if (isHead) unread?.cancel();
  const stream = isHead ? undefined : unread;
  const body = unread || isHead ? new ArrayBuffer(0) : (response.ready() ?? (await response.arrayBuffer()));
  const head = { status, headers: withStream(response.headers, stream) };
  if (webSocket) {
    if (request.headers.get("upgrade")?.toLowerCase() !== "websocket") throw new TypeError('Worker tried to return WebSocket in a response to a request which did not contain the header "Upgrade: websocket".');
    head.headers.push([WEB_SOCKET, String(sendAway(webSocket))]);
  }
  return { head, body };
}

const RESERVED = ["alarm", "webSocketMessage", "webSocketClose", "webSocketError", "constructor"];

// Does what is asked of an object or of an entrypoint, and writes the answer.
async function answered(root, path, args) {
  if (RESERVED.includes(path)) throw new TypeError(`'${path}' is a reserved method and cannot be called over RPC.`);
  const { args: given, stubs } = decodeArguments(args, routeOf);
  try {
    return { json: await encodeCall(await serve(root, path, given)) };
  } finally {
    // Who wants to keep one has made another one of it with `dup()`.
    if (stubs.length) for (const stub of stubs) stub[Symbol.dispose]();
  }
}

class ScheduledController {
  #ended;
  constructor(cron, scheduledTime, ended) {
    this.#ended = ended;
    for (const [name, value] of Object.entries({ cron, scheduledTime })) {
      const set = () => {
        throw new TypeError(`Cannot assign to read only property '${name}' of object '#<ScheduledController>'`);
      };
      Object.defineProperty(this, name, { get: () => value, set, enumerable: true });
    }
  }
  noRetry() {
    this.#ended.noRetry = true;
  }
}
showMethods(ScheduledController, "noRetry");

// A call of a service binding.
async function called(invocation, path, to, args) {
  if (path === "scheduled" || path === "queue") return dispatched(invocation, path, to, decode(args));
  const { target, given } = entrypointOf(invocation, path[0] === "#" ? null : to.entrypoint, to.props);
  return (await answered(given.length ? {} : target, path, args)).json;
}

// An event that another Worker hands over: the answer says how it ended, and waits for `waitUntil`.
async function dispatched(invocation, kind, to, [first, second]) {
  const { batch, settled = { noRetry: false } } = kind === "queue" ? handed(first, second) : {};
  const event = batch ?? new ScheduledController(first.cron, first.scheduledTime ?? natives.now(), settled);
  let outcome = "ok";
  try {
    await handler(invocation, kind, to)(event);
    const given = waiting.get(invocation);
    for (let at = 0; at < given.length; at++) await given[at].catch(() => void (outcome = "exception"));
  } catch (error) {
    outcome = "exception";
    if (/^Handler does not export/.test(error?.message) && kind === "scheduled") settled.noRetry = true;
  }
  return encodeCall({ outcome, ...settled });
}

const handlers = {
  async fetch(invocation, { url, method, headers: sent }, bytes) {
    const { headers, inside, url: address = url, ...to } = received(sent);
    if (inside && method === "RPC") return { json: stringify({ status: 200, headers: [] }), bytes: natives.encode(await called(invocation, decodeURIComponent(new URL(url).pathname.slice(1)), to, natives.decode(bytes, false))) };
    // A request of another Worker comes from a program and not from a client.
    const request = requestOf({ url: address, method, headers }, bytes, { inside });
    const response = await handler(invocation, "fetch", to)(request);
    const { head, body: answer } = await answerOf(response, request);
    return { json: stringify(head), bytes: answer, open: keptOpenBy(response) };
  },
  async queue(invocation, batch) {
    await handler(invocation, "queue")(delivered(invocation, batch));
  },
  async scheduled(invocation, { cron, scheduledTime }) {
    await handler(invocation, "scheduled")(new ScheduledController(cron, scheduledTime, {}));
  },
  async email(invocation, { from, to, headers }, bytes) {
    const { ForwardableEmailMessage, rejectionOf } = part("thunderhead:email");
    const message = new ForwardableEmailMessage(from, to, headers, bytes);
    await handler(invocation, "email")(message);
    return { json: stringify({ rejected: rejectionOf(message) }) };
  },
  rpc(invocation, { object: number, method }, bytes, args) {
    const object = objects.get(number);
    return method === "fetch" ? this.fetchOf(object, args) : answered(object, method, args);
  },
  async fetchOf(object, args) {
    if (typeof object.fetch !== "function") throw new TypeError("Handler does not export a fetch() function.");
    const [head, bytes] = decode(args);
    const request = requestOf(head, bytes, { inside: true });
    const answer = await answerOf(await object.fetch(request), request);
    return { json: encode([answer.head, answer.body]) };
  },
  // A frame on a WebSocket that an object has accepted. One without a handler is dropped, as on the platform.
  async frame(invocation, { object: number, end, text, close }, bytes) {
    const object = objects.get(number);
    const called = (name, ...args) => typeof object[name] === "function" && object[name](socketAt(end), ...args);
    if (close) await called("webSocketClose", close.code, close.reason, close.code !== 1006);
    else await called("webSocketMessage", text ?? bytes);
  },
  async alarm(invocation, { object, retryCount, scheduledTime }) {
    await objects.get(object).alarm({ retryCount, isRetry: retryCount > 0, scheduledTime });
  },
  async workflow(invocation, { className, step, ...event }) {
    const { WorkflowStep, eventOf } = part("thunderhead:workflow");
    const body = new program[className](new ExecutionContext(invocation, {}), env);
    return { json: encodeValue(await body.run(eventOf(event), new WorkflowStep(step, event))) };
  },
  async callback(invocation, { callback }) {
    await kept(callback)();
  },
  async step(invocation, { callback, attempt }) {
    const { work, ...step } = kept(callback);
    const { stepContext } = part("thunderhead:workflow");
    return { json: step.written(await work(stepContext(step, attempt))) };
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

async function run(invocation, kind, argument, bytes, args) {
  const given = [];
  waiting.set(invocation, given);
  current = invocation;
  const over = inUse();
  try {
    const returned = await handlers[kind](invocation, argument, bytes, args);
    const open = sentBy(invocation);
    if (returned?.open) open.push(returned.open);
    if (open.length) given.push(...open);
    natives.returned(invocation, returned?.json ?? "", given.length > 0, open.length > 0, returned?.bytes);
  } catch (error) {
    natives.thrown(invocation, describe(error));
    given.length = 0;
  }
  if (given.length) await afterwards(invocation, given);
  else waiting.delete(invocation);
  over();
  if (!HANDLERS.includes(kind)) return;
  endInvocation(invocation);
  endStreams(invocation);
}

const HANDLERS = ["fetch", "queue", "scheduled", "email"];
const has = (target, name) => typeof target?.[name] === "function";

export const hooks = {
  settle,
  // `env` is there before the program runs.
  prepare(bindings) {
    const { name, node, errors, all } = parse(bindings);
    worker = name;
    keepErrors(errors);
    bind(all);
    globalThis.Cloudflare = { compatibilityFlags: { nodejs_compat: Boolean(node) } };
    if (node) {
      Object.assign(globalThis, { global: globalThis, ...timeouts });
      defineGlobal("process", () => part("node:process").default);
      defineGlobal("Buffer", () => part("node:buffer").Buffer);
    }
    loadNamed();
  },
  init(namespace) {
    program = modernized(namespace, env);
  },
  start(invocation, kind, json, bytes, args) {
    run(invocation, kind, parse(json), bytes, args);
  },
  // What the constructor throws is the result.
  construct(object, className, sqlite, digits, name) {
    const Class = program[className];
    const state = new DurableObjectState(object, new DurableObjectId(digits, name), { sqlite, hasAlarm: has(Class.prototype, "alarm"), exports });
    try {
      objects.set(object, new Class(state, env));
    } catch (error) {
      return describe(error);
    }
    return undefined;
  },
  // A question to `storm.ts`.
  ask: (kind, json) => part("thunderhead:storm").ask(program, kind, json),
  describe() {
    const exported = typeof program.default === "function" ? program.default.prototype : program.default;
    const classes = Object.entries(program).filter(([name, value]) => name !== "default" && typeof value === "function");
    return stringify({
      handlers: HANDLERS.filter((name) => has(exported, name)),
      classes: classes.map(([name, value]) => ({ name, alarm: has(value.prototype, "alarm"), run: has(value.prototype, "run") })),
    });
  },
};
