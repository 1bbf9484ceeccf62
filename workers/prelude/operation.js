// Operations of the platform, as promises. The host knows each by its number.
import natives from "thunderhead:natives";

// Kept from the program, which may replace what is global.
export const { parse, stringify } = JSON;

const pending = new Map();
let last = 0;

const CLASSES = { Error, TypeError, RangeError, SyntaxError, ReferenceError, URIError, EvalError };

// An error that the host describes.
export function revive({ name, message, cause, ...marks }) {
  const Class = CLASSES[name] ?? Error;
  const error = new Class(message, cause === undefined ? undefined : { cause: new Error(cause) });
  if (error.name !== name) Object.defineProperty(error, "name", { value: name, configurable: true, writable: true });
  return Object.assign(error, marks);
}

// Whatever was thrown, for the host to read. Nothing of it is trusted to be readable.
export function describe(thrown) {
  const field = (name) => safe(() => String(thrown[name]), "");
  const isError = safe(() => thrown instanceof Error || thrown instanceof DOMException, false);
  if (isError) return stringify({ name: field("name"), message: field("message"), nonRetryable: safe(() => nonRetryable in thrown, false), stack: field("stack") });
  const message = safe(() => String(thrown?.message ?? thrown), "something that has no text");
  return stringify({ name: "Error", message });
}

function safe(read, otherwise) {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

// The mark of a NonRetryableError.
export const nonRetryable = Symbol("nonRetryable");

// Begins an operation. The promise resolves with the answer and its bytes.
export function begin(kind, argument, bytes) {
  const id = ++last;
  return new Promise((resolve, reject) => {
    natives.begin(id, kind, stringify(argument), bytes);
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

export function settle(id, ok, json, bytes) {
  const { resolve, reject } = pending.get(id) ?? {};
  pending.delete(id);
  const value = json === undefined || json === null ? undefined : parse(json);
  if (ok) resolve?.({ value, bytes });
  else reject?.(revive(value));
}

// Asks a service for an operation of the simulator.
export async function ask(op, bytes) {
  return begin("ask", op, bytes);
}

// Functions of the program that the host calls later, by number.
const callbacks = new Map();

export function keep(callback) {
  const id = ++last;
  callbacks.set(id, callback);
  return id;
}

export const kept = (id) => callbacks.get(id);
export const release = (id) => callbacks.delete(id);
