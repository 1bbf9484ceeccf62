// `node:util`.
import { TextDecoder, TextEncoder } from "thunderhead:text";
import { show } from "thunderhead:console";

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
export const debuglog = () => () => {};
export const stripVTControlCharacters = (text) => String(text).replace(/\u001b\[[0-9;]*m/g, "");
export const types = {
  isDate: (value) => value instanceof Date,
  isRegExp: (value) => value instanceof RegExp,
  isPromise: (value) => value instanceof Promise,
  isMap: (value) => value instanceof Map,
  isSet: (value) => value instanceof Set,
  isNativeError: (value) => value instanceof Error,
  isTypedArray: (value) => ArrayBuffer.isView(value) && !(value instanceof DataView),
  isUint8Array: (value) => value instanceof Uint8Array,
  isArrayBuffer: (value) => value instanceof ArrayBuffer,
  isAnyArrayBuffer: (value) => value instanceof ArrayBuffer,
};
export { TextDecoder, TextEncoder };
export default { inspect, format, promisify, callbackify, inherits, isDeepStrictEqual, deprecate, debuglog, stripVTControlCharacters, types, TextDecoder, TextEncoder };
