// `node:util`.
import { TextDecoder, TextEncoder } from "thunderhead:text";
import { console, show } from "thunderhead:console";
import { Buffer } from "node:buffer";
import { types } from "thunderhead:types";

export const inspect = Object.assign((value) => show(value, 1), { custom: Symbol.for("nodejs.util.inspect.custom") });

export function format(first, ...rest) {
  if (typeof first !== "string") return [first, ...rest].map((value) => show(value)).join(" ");
  const text = first.replace(/%[sdifjoOc%]/g, (mark) => {
    if (mark === "%%") return "%";
    if (!rest.length) return mark;
    const value = rest.shift();
    if (mark === "%d" || mark === "%i" || mark === "%f") return String(Number(value));
    if (mark === "%j") return JSON.stringify(value);
    return mark === "%c" ? "" : show(value);
  });
  return [text, ...rest.map((value) => show(value))].join(" ");
}

export const promisify = (work) =>
  function (...args) {
    return new Promise((resolve, reject) => work.call(this, ...args, (error, value) => (error ? reject(error) : resolve(value))));
  };
promisify.custom = Symbol.for("nodejs.util.promisify.custom");

export const callbackify = (work) =>
  function (...args) {
    const done = args.pop();
    work.apply(this, args).then((value) => done(null, value), (error) => done(error));
  };

export function inherits(Class, Parent) {
  Object.setPrototypeOf(Class.prototype, Parent.prototype);
  Class.super_ = Parent;
}

export function isDeepStrictEqual(one, two) {
  if (Object.is(one, two)) return true;
  if (typeof one !== "object" || typeof two !== "object" || one === null || two === null) return false;
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(two)) return false;
  if (one instanceof Date) return one.getTime() === two.getTime();
  if (one instanceof RegExp) return String(one) === String(two);
  if (one instanceof Map) return one.size === two.size && [...one].every(([key, value]) => two.has(key) && isDeepStrictEqual(value, two.get(key)));
  if (one instanceof Set) return one.size === two.size && [...one].every((value) => two.has(value));
  const keys = Object.keys(one);
  return keys.length === Object.keys(two).length && keys.every((key) => Object.hasOwn(two, key) && isDeepStrictEqual(one[key], two[key]));
}

export const deprecate = (work) => work;
export const _extend = (target, source) => Object.assign(target, source);
export const [isArray, toUSVString] = [Array.isArray, (text) => String(text).toWellFormed()];
// Colours are for terminals, and the runtime has none.
export const styleText = (style, text) => text;
export const formatWithOptions = (options, ...rest) => format(...rest);
export const log = (...values) => console.log(...values);
export const aborted = (signal) => new Promise((resolve) => (signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve(), { once: true })));

// What older programs ask of a value.
const KINDS = {
  ...{ isBoolean: (value) => typeof value === "boolean", isBuffer: (value) => Buffer.isBuffer(value), isDate: (value) => value instanceof Date },
  ...{ isError: (value) => value instanceof Error, isFunction: (value) => typeof value === "function", isNull: (value) => value === null },
  ...{ isNullOrUndefined: (value) => value === null || value === undefined, isNumber: (value) => typeof value === "number" },
  ...{ isObject: (value) => typeof value === "object" && value !== null, isPrimitive: (value) => Object(value) !== value },
  ...{ isRegExp: (value) => value instanceof RegExp, isString: (value) => typeof value === "string", isSymbol: (value) => typeof value === "symbol" },
  isUndefined: (value) => value === undefined,
};
export const { isBoolean, isBuffer, isDate, isError, isFunction, isNull, isNullOrUndefined, isNumber, isObject, isPrimitive, isRegExp, isString, isSymbol, isUndefined } = KINDS;
export const debuglog = () => () => {};
export const stripVTControlCharacters = (text) => String(text).replace(/\u001b\[[0-9;]*m/g, "");
export const debug = debuglog;
export { TextDecoder, TextEncoder, types };
export default { ...KINDS, _extend, isArray, toUSVString, styleText, formatWithOptions, log, aborted, debug, inspect, format, promisify, callbackify, inherits, isDeepStrictEqual, deprecate, debuglog, stripVTControlCharacters, types, TextDecoder, TextEncoder };
