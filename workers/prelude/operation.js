// Operations of the platform, as promises. The host knows each by its number.
import { keepShapes } from "thunderhead:heap";
import natives from "thunderhead:natives";

// Kept from the program, which may replace what is global.
export const { parse } = JSON;
const toJson = JSON.stringify;
const { defineProperty } = Object;

// Half a pair of surrogates has no bytes: it is written as what stands for a character that is unknown.
export function stringify(value) {
  const text = toJson(value);
  // `includes` compares at every character, `replace` only where the first one is found.
  if (typeof text !== "string" || text.replace("\\ud", "") === text) return text;
  return text.replace(/(\\\\)|\\ud[89a-f][0-9a-f]{2}/g, (all, backslash) => backslash ?? "\\ufffd");
}

const pending = new Map();
let last = 0;
for (const example of [{ resolve: 0, reject: 0 }, { value: 0, bytes: 0 }]) keepShapes(example);

const CLASSES = { Error, TypeError, RangeError, SyntaxError, ReferenceError, URIError, EvalError };

// How an error that came from another isolate is read; `clone` knows.
let reader = () => undefined;
export const readThrownWith = (read) => void (reader = read);

// An error that the host describes. Its stack is its own property, as in the runtime.
export function revive({ name, message, cause, details, ...marks }) {
  const thrown = details === undefined ? undefined : reader(details);
  if (typeof thrown === "object" && thrown !== null) return Object.assign(thrown, marks);
  const Class = CLASSES[name] ?? Error;
  const error = new Class(message, cause === undefined ? undefined : { cause: new Error(cause) });
  if (error.name !== name) defineProperty(error, "name", { value: name, configurable: true, writable: true });
  defineProperty(error, "stack", { value: error.stack, configurable: true, writable: true });
  return Object.assign(error, marks);
}

// How what was thrown is written for another isolate, when its name and its message do not say all; `clone` knows.
let writer = () => "";
export const writeThrownWith = (write) => void (writer = write);

// Whatever was thrown, for the host to read. Nothing of it is trusted to be readable.
export function describe(thrown) {
  const field = (name) => safe(() => String(thrown[name]), "");
  const isError = safe(() => thrown instanceof Error, false);
  const details = safe(() => writer(thrown), undefined);
  if (isError) {
    const [name, message] = [field("name"), field("message")];
    // One property that cannot be written takes all the others with it.
    if (details === undefined) return stringify({ name: "Error", message: `${name}: ${message}`, stack: field("stack") });
    return stringify({ name, message, nonRetryable: name === "NonRetryableError", details, stack: field("stack") });
  }
  return stringify({ name: "Error", message: safe(() => textOf(thrown), "something that has no text"), details: details ?? "" });
}

function textOf(thrown) {
  if (typeof thrown !== "object" || thrown === null) return String(thrown);
  return thrown.message === undefined ? `#<${thrown.constructor?.name ?? "Object"}>` : String(thrown.message);
}

function safe(read, otherwise) {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

// Begins an operation. The promise resolves with the answer and its bytes.
export function begin(kind, argument, bytes) {
  return begun((id) => natives.begin(id, kind, stringify(argument), bytes));
}

// What comes of the operation that `start` begins under a number.
export function begun(start) {
  const id = ++last;
  return new Promise((resolve, reject) => {
    start(id);
    pending.set(id, { resolve, reject });
  });
}

// Begins an operation that can be cancelled: `then` is called with its answer.
export function beginCancellable(kind, argument, then) {
  const id = ++last;
  natives.begin(id, kind, stringify(argument));
  pending.set(id, { resolve: then, reject: then });
  return id;
}

export function cancel(id) {
  if (pending.delete(id)) natives.cancel(id);
}

// The answer is JSON, or a text that is the value.
export function settle(id, ok, json, bytes, text) {
  const waits = pending.get(id);
  if (waits === undefined) return;
  pending.delete(id);
  const value = json === undefined || json === null ? text : parse(json);
  if (ok) waits.resolve({ value, bytes });
  else waits.reject(revive(value));
}

// Asks a service for an operation of the simulator.
export const ask = (op, bytes) => begin("ask", op, bytes);

// The same for one that is JSON already.
export const askInJson = (json, bytes) => begun((id) => natives.begin(id, "ask", json, bytes));

// Functions of the program that the host calls later, by number.
const callbacks = new Map();

export function keep(callback) {
  const id = ++last;
  callbacks.set(id, callback);
  return id;
}

export const kept = (id) => callbacks.get(id);
export const release = (id) => callbacks.delete(id);

// The property through which a value contains itself, and the value that has it.
function circle(value, path = []) {
  if (typeof value !== "object" || value === null) return undefined;
  if (path.includes(value)) return [];
  for (const key of Object.keys(value)) {
    const found = circle(value[key], [...path, value]);
    if (found) return found.length ? found : [key, value];
  }
  return undefined;
}

// JSON, with the runtime's words for what has none.
export function jsonOf(value) {
  try {
    return stringify(value);
  } catch (error) {
    if (/BigInt/.test(error.message)) throw new TypeError("Do not know how to serialize a BigInt");
    const [key, start] = circle(value) ?? [];
    if (key === undefined) throw error;
    throw new TypeError(`Converting circular structure to JSON\n    --> starting at object with constructor '${start.constructor?.name}'\n    --- property '${key}' closes the circle`);
  }
}

export const isCircular = (value) => circle(value) !== undefined;

// What the runtime's own classes list when they are asked for their keys: these methods, in this order.
export function showMethods(Class, ...names) {
  for (const name of names) {
    const method = Object.getOwnPropertyDescriptor(Class.prototype, name);
    delete Class.prototype[name];
    defineProperty(Class.prototype, name, { ...method, enumerable: true });
  }
}
