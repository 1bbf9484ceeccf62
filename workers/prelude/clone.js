// Values that leave the isolate. One that JSON can hold is written as JSON, so that histories can be read; any other
// is written with tags, behind a tilde. No text at all is `undefined`.
import natives from "thunderhead:natives";
import { DOMException } from "thunderhead:dom_exception";
import { parse, readThrownWith, stringify, writeThrownWith } from "thunderhead:operation";
import { Body, Headers, Request, Response } from "thunderhead:http";
import { isStub, isTarget, keepForOthers, shareWithCall, stubFor } from "thunderhead:rpc";
import { sendAway, streamAt } from "thunderhead:streamed";
import { ReadableStream } from "thunderhead:readable_stream";
import { bufferOf, fromHex, toHex } from "thunderhead:text";

const MAX_PLAIN_DEPTH = 32;
const MAX_RPC_BYTES = 32 << 20;

function isPlain(value, depth = 0) {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0);
    case "object":
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (depth > MAX_PLAIN_DEPTH) return false;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) if (!(at in value) || !isPlain(value[at], depth + 1)) return false;
    return true;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const key of Object.keys(value)) if (key === "toJSON" || !isPlain(value[key], depth + 1)) return false;
  return true;
}

const cloneError = (message) => new DOMException(message, "DataCloneError");

// Over RPC only plain objects cross; a structured clone takes the own properties of any.
function refuse(value, rpc) {
  const name = value?.constructor?.name ?? "Object";
  return cloneError(rpc && !(value instanceof Promise) ? `Could not serialize object of type "${name}". This type does not support serialization.` : `#<${name}> could not be cloned.`);
}

const ERRORS = { Error, TypeError, RangeError, SyntaxError, ReferenceError, URIError, EvalError, AggregateError, DOMException };

// An error is of the class that its name says, as in the runtime.
function classOf(error) {
  if (error instanceof DOMException) return "DOMException";
  const { name } = error;
  return name !== "DOMException" && Object.hasOwn(ERRORS, name) ? name : "Error";
}

// What the next isolate is told anyway is not written again.
const TOLD = ["name", "message", "stack", "remote", "durableObjectId"];
const ownOf = (error) => Object.keys(error).filter((key) => !TOLD.includes(key));

// Over RPC an error keeps its name, its cause and its properties; a structured clone keeps its class and message.
function writeError(error, how, inner) {
  const of = classOf(error);
  const written = { $: "error", class: of, message: String(error.message) };
  if (!how.rpc || how.steps) return written;
  if (error.name !== of) written.name = String(error.name);
  if (of !== "DOMException" && ownOf(error).length) written.of = ownOf(error).map((key) => [key, inner(error[key])]);
  if (Object.hasOwn(error, "cause")) written.cause = inner(error.cause);
  if (of === "AggregateError") written.errors = inner(error.errors);
  return written;
}

// A stub says where what it stands for is kept, if others can call there.
function writeStub(value, how) {
  if (!how.stubs) throw cloneError(how.rpc ? "RpcStub cannot be serialized in this context." : `${String(value)} could not be cloned.`);
  // A stub that is passed on is another one for the same thing.
  const kept = isStub(value) ? value.dup() : value;
  const disposable = typeof value[Symbol.dispose] === "function" || undefined;
  return { $: "stub", of: keepForOthers(kept), function: typeof value === "function", disposable, home: natives.home() };
}

function writeBody(value, how) {
  const bytes = how.bodies?.get(value);
  if (bytes === undefined) throw refuse(value, how.rpc);
  const { url, method, status, statusText, headers } = value;
  const head = value instanceof Request ? { url, method } : { status, statusText };
  return { $: value instanceof Request ? "request" : "response", ...head, headers: [...headers], body: value.body === null ? null : toHex(bytes) };
}

function write(value, how, seen) {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "undefined":
      return { $: "undefined" };
    case "bigint":
      return { $: "bigint", of: String(value) };
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0) ? value : { $: "number", of: Object.is(value, -0) ? "-0" : String(value) };
    case "function":
      return writeStub(value, how);
    case "symbol":
      throw cloneError(`${String(value)} could not be cloned.`);
  }
  if (value === null) return null;
  if (seen.has(value)) return { $: "seen", of: seen.get(value) };
  seen.set(value, seen.size);
  const inner = (part) => write(part, how, seen);
  if (value instanceof Date) return { $: "date", of: value.getTime() };
  if (value instanceof RegExp) return { $: "regexp", of: [value.source, value.flags] };
  if (value instanceof Map) return { $: "map", of: [...value].map((pair) => pair.map(inner)) };
  if (value instanceof Set) return { $: "set", of: [...value].map(inner) };
  if (value instanceof ArrayBuffer) return { $: "buffer", of: toHex(value) };
  if (ArrayBuffer.isView(value)) return { $: "view", type: value.constructor.name, of: toHex(bufferOf(value)) };
  if (value instanceof Error) return writeError(value, how, inner);
  if (how.rpc && value instanceof Headers) return { $: "headers", of: [...value] };
  if (isTarget(value) || isStub(value)) return writeStub(value, how);
  if (value instanceof Body) return writeBody(value, how);
  if (how.stubs && value instanceof ReadableStream) return { $: "stream", of: sendAway(value) };
  if (Array.isArray(value)) return { $: "array", of: Array.from(value, (part, at) => (at in value ? inner(part) : { $: "hole" })) };
  if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet) throw refuse(value, how.rpc);
  const prototype = Object.getPrototypeOf(value);
  if (how.rpc && prototype !== Object.prototype && prototype !== null) throw refuse(value, how.rpc);
  return { $: "object", of: Object.keys(value).map((key) => [key, inner(value[key])]) };
}

function readError(value, keep, inner) {
  const Class = ERRORS[value.class] ?? Error;
  const made = { AggregateError: () => new AggregateError(inner(value.errors ?? []), value.message), DOMException: () => new DOMException(value.message, value.name) };
  const error = keep((made[value.class] ?? (() => new Class(value.message)))());
  const hidden = (key, part) => Object.defineProperty(error, key, { value: part, configurable: true, writable: true });
  if (value.name !== undefined && value.class !== "DOMException") hidden("name", value.name);
  if ("cause" in value) hidden("cause", inner(value.cause));
  for (const [key, part] of value.of ?? []) error[key] = inner(part);
  hidden("stack", error.stack);
  return error;
}

function readBody({ $: kind, url, method, headers, status, statusText, body }) {
  const bytes = body === null ? null : fromHex(body);
  return kind === "request" ? new Request(url, { method, headers, body: bytes }) : new Response(bytes, { status, statusText, headers });
}

function read(value, made, route) {
  if (typeof value !== "object" || value === null) return value;
  const keep = (thing) => (made.push(thing), thing);
  const inner = (part) => read(part, made, route);
  switch (value.$) {
    case "undefined":
      return undefined;
    case "bigint":
      return BigInt(value.of);
    case "number":
      return value.of === "-0" ? -0 : Number(value.of);
    case "seen":
      return made[value.of];
    case "date":
      return keep(new Date(value.of));
    case "regexp":
      return keep(new RegExp(...value.of));
    case "buffer":
      return keep(fromHex(value.of));
    case "view":
      return keep(value.type === "DataView" ? new DataView(fromHex(value.of)) : new VIEWS[value.type](fromHex(value.of)));
    case "error":
      return readError(value, keep, inner);
    case "headers":
      return keep(new Headers(value.of));
    case "stub":
      return keep(stubFor(route(value), value));
    case "stream":
      return keep(streamAt(value.of));
    case "request":
    case "response":
      return keep(readBody(value));
    case "map": {
      const map = keep(new Map());
      for (const [key, part] of value.of) map.set(inner(key), inner(part));
      return map;
    }
    case "set": {
      const set = keep(new Set());
      for (const part of value.of) set.add(inner(part));
      return set;
    }
    case "array": {
      const array = keep([]);
      array.length = value.of.length;
      value.of.forEach((part, at) => {
        if (part?.$ !== "hole") array[at] = inner(part);
      });
      return array;
    }
    default: {
      const object = keep({});
      for (const [key, part] of value.of) object[key] = inner(part);
      return object;
    }
  }
}

const VIEWS = { Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array };

// How values cross: `rpc` by the rules of calls, `stubs` with functions and targets.
const CLONE = {};
const VALUE = { rpc: true };
const STEP = { rpc: true, steps: true };

function encodeAs(value, how) {
  if (value === undefined) return "";
  return isPlain(value) ? stringify(value) : `~${stringify(write(value, how, new Map()))}`;
}

// By the rules of a structured clone.
export const encode = (value) => encodeAs(value, CLONE);

// By the rules of calls, without functions.
export const encodeValue = (value) => encodeAs(value, VALUE);

// The result of a step: of an error, only class and message are kept.
export const encodeStep = (value) => encodeAs(value, STEP);

// Requests and responses in a value: their bytes have to be there before it is written.
function bodiesIn(value, found = [], depth = 0) {
  if (value instanceof Body) found.push(value);
  else if (Array.isArray(value)) value.forEach((part) => bodiesIn(part, found, depth));
  else if (isObject(value) && depth < MAX_PLAIN_DEPTH) for (const key of Object.keys(value)) bodiesIn(value[key], found, depth + 1);
  return found;
}

const isObject = (value) => typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;

function encodeCallWith(value, bodies) {
  return checkedText(value, encodeAs(value, { rpc: true, stubs: true, bodies }));
}

function checkedText(value, text) {
  // What the runtime would count: the length of a text, and the bytes that say so.
  if (typeof value === "string" && value.length > MAX_RPC_BYTES) throw tooLarge(value.length + 7);
  if (text.length > 2 * MAX_RPC_BYTES) throw tooLarge(text.length);
  return text;
}

const tooLarge = (bytes) => new Error(`Serialized RPC arguments or return values are limited to 32MiB, but the size of this value was: ${bytes} bytes.`);

// Arguments or a result of a call: at once if that is possible, else a promise.
export function encodeCall(value) {
  // There are no bodies in what JSON can hold.
  if (isPlain(value)) return checkedText(value, stringify(value));
  const bodies = bodiesIn(value);
  if (!bodies.length) return encodeCallWith(value);
  return Promise.all(bodies.map(async (body) => [body, await body.sent()])).then((all) => encodeCallWith(value, new Map(all)));
}

const noRoute = () => () => Promise.reject(new Error("A function that came from another isolate can be called only while its call lasts."));

export function decode(text, route = noRoute) {
  if (text === undefined || text === null || text === "") return undefined;
  return text[0] === "~" ? read(parse(text.slice(1)), [], route) : parse(text);
}

// Arguments of a call, and the stubs among them, which are disposed of when the call is over.
export function decodeArguments(text, route) {
  if (text?.[0] !== "~") return { args: decode(text), stubs: [] };
  const made = [];
  const args = read(parse(text.slice(1)), made, route);
  return { args, stubs: made.filter(isStub) };
}

// The result of a call. To dispose of an object is to dispose of the stubs in it; one without any can be disposed of too.
export function decodeResult(text, route) {
  const { args: result, stubs } = decodeArguments(text, route);
  if (isStub(result)) shareWithCall(result);
  else if (typeof result === "object" && result !== null) Object.defineProperty(result, Symbol.dispose, { value: () => stubs.forEach((stub) => stub[Symbol.dispose]()) });
  return result;
}

export const structuredClone = (value) => decode(encode(value));

// Whether an error that is thrown in another isolate keeps its name and its properties. With older compatibility dates
// it is one text, by which classes of the language are known again; any other name becomes part of the message.
let keepsErrors = true;
export const keepErrors = (keeps) => void (keepsErrors = keeps);

function writeAsText(thrown) {
  const text = String(thrown);
  const of = Object.keys(ERRORS).find((name) => text === name || text.startsWith(`${name}: `));
  const message = of === undefined ? text : text.slice(of.length + 2);
  return `~${stringify({ $: "error", class: of ?? "Error", message })}`;
}

// What was thrown, for another isolate: nothing for an error that its name and message describe.
writeThrownWith((thrown) => {
  if (typeof thrown !== "object" || thrown === null) return "";
  if (!keepsErrors && !(thrown instanceof DOMException)) return thrown instanceof Error ? writeAsText(thrown) : "";
  if (!(thrown instanceof Error)) return `~${stringify(write(thrown, VALUE, new Map()))}`;
  const plain = classOf(thrown) === thrown.name && thrown.name !== "AggregateError" && thrown.name !== "DOMException";
  const bare = plain && !ownOf(thrown).length && !Object.hasOwn(thrown, "cause");
  return bare ? "" : `~${stringify(write(thrown, VALUE, new Map()))}`;
});
readThrownWith((details) => decode(details));
