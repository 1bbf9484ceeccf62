// Workers KV.
import natives from "thunderhead:natives";
import { bytesOf } from "thunderhead:http";
import { ask, parse, stringify } from "thunderhead:operation";
import { ReadableStream, streamOf } from "thunderhead:readable_stream";
import { atob, btoa, fromBody } from "thunderhead:text";

const wrong = (method, parameter, type) => new TypeError(`Failed to execute '${method}' on 'KvNamespace': parameter ${parameter} is not of type '${type}'.`);

function keyOf(given) {
  if (typeof given === "symbol") throw new TypeError("Cannot convert a Symbol value to a string");
  const key = `${given}`;
  if (key === "") throw new TypeError("Key name cannot be empty.");
  if (key === "." || key === "..") throw new TypeError(`"${key}" is not allowed as a key name.`);
  return key;
}

const TYPES = ["text", "json", "arrayBuffer", "stream"];

// A type, or options with one, as the second argument of `get`.
function typeOf(given) {
  const options = typeof given === "object" && given !== null ? given : { type: given ?? undefined };
  const type = options.type === undefined ? "text" : options.type;
  if (!TYPES.includes(type)) throw new TypeError('Unknown response type. Possible types are "text", "arrayBuffer", "json", and "stream".');
  return { type, cacheTtl: options.cacheTtl === undefined ? null : integer(options.cacheTtl) };
}

// A number as the runtime reads one.
function integer(value) {
  const number = Math.trunc(Number(value)) || 0;
  if (number > 2147483647 || number < -2147483648) throw new TypeError("Value out of range. Must be between -2147483648 and 2147483647 (inclusive).");
  return number;
}

function jsonOf(text) {
  // The runtime's words for nothing.
  if (text === "") throw new SyntaxError("Unexpected end of JSON input");
  return JSON.parse(text);
}

function valueOf(bytes, type) {
  switch (type) {
    case "arrayBuffer":
      return bytes;
    case "stream":
      return streamOf(bytes);
    case "json":
      return jsonOf(natives.decode(bytes, false));
    default:
      return natives.decode(bytes, false);
  }
}

const metadataOf = ({ metadata }) => (metadata === null || metadata === undefined ? null : parse(metadata));

async function payload(value) {
  // What is no object is written as its text.
  if (typeof value === "symbol") throw new TypeError("Cannot convert a Symbol value to a string");
  if (typeof value !== "function" && (typeof value !== "object" || value === null)) return natives.encode(String(value));
  const fits = value instanceof ArrayBuffer || ArrayBuffer.isView(value) || value instanceof ReadableStream;
  if (!fits) throw new TypeError("KV put() accepts only strings, ArrayBuffers, ArrayBufferViews, and ReadableStreams as values.");
  if (value instanceof ReadableStream && value.locked) throw new TypeError("The ReadableStream has been locked to a reader.");
  return bytesOf(value);
}

const textOf = (value) => (value === undefined || value === null ? undefined : String(value));

// A cursor is the last key of the page before in base64; what is no base64 finds nothing.
function afterOf(cursor) {
  const text = textOf(cursor);
  if (!text) return undefined;
  try {
    return natives.decode(new Uint8Array([...atob(text)].map((letter) => letter.charCodeAt(0))).buffer, true);
  } catch {
    return /[^A-Za-z0-9+/=]/.test(text) ? "\u{10ffff}" : undefined;
  }
}
const cursorOf = (key) => btoa(String.fromCharCode(...new Uint8Array(natives.encode(key))));

export class KvNamespace {
  #namespace;
  constructor(namespace) {
    this.#namespace = namespace;
  }
  #ask(op, fields, bytes) {
    return ask({ kv: { [op]: { namespace: this.#namespace, ...fields } } }, bytes);
  }
  async #one(key, options) {
    const { type, cacheTtl } = typeOf(options);
    const { value: told, bytes: body } = await this.#ask("get", { key: keyOf(key), cacheTtl });
    const reply = told.kv;
    return reply.value === null ? { value: null, metadata: null } : { value: valueOf(body, type), metadata: metadataOf(reply.value) };
  }
  async #many(keys, options, whole) {
    const { type } = typeOf(options);
    if (!keys.length) throw new Error("KV GET_BULK failed: 400 You must request a minimum of 1 key");
    if (type !== "text" && type !== "json") throw new TypeError(`"${type}" is not a valid type for a bulk get: "text" and "json" are.`);
    const { values } = (await this.#ask("getBulk", { keys: keys.map(keyOf) })).value.kv;
    const read = (entry) => {
      if (entry === null) return null;
      const value = valueOf(fromBody(entry.value), type);
      return whole ? { value, metadata: metadataOf(entry) } : value;
    };
    return new Map(values.map(([key, entry]) => [key, read(entry)]));
  }
  async get(key, options) {
    if (arguments.length === 0) throw wrong("get", 1, "string or Array");
    return Array.isArray(key) ? this.#many(key, options, false) : (await this.#one(key, options)).value;
  }
  async getWithMetadata(key, options) {
    if (arguments.length === 0) throw wrong("getWithMetadata", 1, "Array or string");
    return Array.isArray(key) ? this.#many(key, options, true) : { ...(await this.#one(key, options)), cacheStatus: null };
  }
  async put(key, value, options) {
    if (arguments.length === 0) throw wrong("put", 1, "string");
    if (arguments.length === 1) throw wrong("put", 2, "string or Object");
    if (options !== undefined && options !== null && typeof options !== "object") throw wrong("put", 3, "PutOptions");
    const name = keyOf(key);
    const { expiration, expirationTtl, metadata } = options ?? {};
    const asked = { metadata: metadata === undefined || metadata === null ? null : stringify(metadata) };
    if (expirationTtl !== undefined) asked.expirationTtl = integer(expirationTtl);
    if (expiration !== undefined) asked.expiration = integer(expiration);
    await this.#ask("put", { key: name, value: "", options: asked }, await payload(value));
  }
  async delete(key) {
    if (arguments.length === 0) throw wrong("delete", 1, "string");
    await this.#ask("delete", { key: keyOf(key) });
  }
  async list(options) {
    const { prefix, limit, cursor } = options ?? {};
    // The runtime leaves out a limit that is none.
    const most = limit === undefined || limit === null ? 0 : integer(limit);
    const asked = { prefix: textOf(prefix), limit: most < 1 ? undefined : most, cursor: afterOf(cursor) };
    const { keys, complete, cursor: next } = (await this.#ask("list", { options: asked })).value.kv.listing;
    const listed = keys.map(({ name, expiration, metadata }) => ({ name, ...(expiration === null ? {} : { expiration }), ...(metadata === null ? {} : { metadata: parse(metadata) }) }));
    return { keys: listed, list_complete: complete, ...(complete ? {} : { cursor: cursorOf(next) }), cacheStatus: null };
  }
}
