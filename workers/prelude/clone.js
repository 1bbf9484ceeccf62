// Values that leave the isolate. One that JSON can hold is written as JSON, so that histories can be read; any other
// is written with tags, behind a tilde. No text at all is `undefined`.
import { parse, stringify } from "thunderhead:operation";
import { Body, Headers } from "thunderhead:http";
import { bufferOf, fromHex, toHex } from "thunderhead:text";

const MAX_PLAIN_DEPTH = 32;

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
  return Object.keys(value).every((key) => key !== "toJSON" && isPlain(value[key], depth + 1));
}

const cloneError = (message) => new DOMException(message, "DataCloneError");

// Over RPC only plain objects cross; a structured clone takes the own properties of any.
function refuse(value, rpc) {
  const name = value?.constructor?.name ?? "Object";
  return cloneError(rpc ? `Could not serialize object of type "${name}". This type does not support serialization.` : `#<${name}> could not be cloned.`);
}

function write(value, rpc, seen) {
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
    case "symbol":
      throw cloneError(`${String(value)} could not be cloned.`);
  }
  if (value === null) return null;
  if (seen.has(value)) return { $: "seen", of: seen.get(value) };
  seen.set(value, seen.size);
  const inner = (part) => write(part, rpc, seen);
  if (value instanceof Date) return { $: "date", of: value.getTime() };
  if (value instanceof RegExp) return { $: "regexp", of: [value.source, value.flags] };
  if (value instanceof Map) return { $: "map", of: [...value].map((pair) => pair.map(inner)) };
  if (value instanceof Set) return { $: "set", of: [...value].map(inner) };
  if (value instanceof ArrayBuffer) return { $: "buffer", of: toHex(value) };
  if (ArrayBuffer.isView(value)) return { $: "view", type: value.constructor.name, of: toHex(bufferOf(value)) };
  if (value instanceof Error) return { $: "error", name: value.name, message: value.message };
  if (rpc && value instanceof Headers) return { $: "headers", of: [...value] };
  if (Array.isArray(value)) return { $: "array", of: Array.from(value, (part, at) => (at in value ? inner(part) : { $: "hole" })) };
  if (value instanceof Promise || value instanceof Body || value instanceof WeakMap || value instanceof WeakSet) throw refuse(value, rpc);
  const prototype = Object.getPrototypeOf(value);
  if (rpc && prototype !== Object.prototype && prototype !== null) throw refuse(value, rpc);
  return { $: "object", of: Object.keys(value).map((key) => [key, inner(value[key])]) };
}

const ERRORS = { TypeError, RangeError, SyntaxError, ReferenceError, URIError, EvalError };

function read(value, made) {
  if (typeof value !== "object" || value === null) return value;
  const keep = (thing) => (made.push(thing), thing);
  const inner = (part) => read(part, made);
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
      return keep(new (ERRORS[value.name] ?? Error)(value.message));
    case "headers":
      return keep(new Headers(value.of));
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

export function encode(value, rpc = false) {
  if (value === undefined) return "";
  return isPlain(value) ? stringify(value) : `~${stringify(write(value, rpc, new Map()))}`;
}

export function decode(text) {
  if (text === undefined || text === null || text === "") return undefined;
  return text[0] === "~" ? read(parse(text.slice(1)), []) : parse(text);
}

export const structuredClone = (value) => decode(encode(value));
