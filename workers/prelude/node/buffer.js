// `node:buffer`: as much as programs commonly use.
import { Blob, File } from "thunderhead:http";
import { TextDecoder, TextEncoder, atob, btoa, bufferOf, fromHex, toHex } from "thunderhead:text";

const latin = (bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
const fromLatin = (text) => Uint8Array.from(text, (letter) => letter.charCodeAt(0) & 255);
const toUrl = (text) => text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
const fromUrl = (text) => text.replaceAll("-", "+").replaceAll("_", "/").replace(/[^A-Za-z0-9+/]/g, "");

// One letter more than a multiple of four says nothing.
const wholeOf = (text) => (text.length % 4 === 1 ? text.slice(0, -1) : text);

function encoded(text, encoding = "utf8") {
  switch (String(encoding).toLowerCase()) {
    case "utf8":
    case "utf-8":
      return new TextEncoder().encode(text);
    case "hex":
      return new Uint8Array(fromHex(text.slice(0, text.length & ~1)));
    case "base64":
    case "base64url":
      return fromLatin(atob(wholeOf(fromUrl(text))));
    case "latin1":
    case "binary":
    case "ascii":
      return fromLatin(text);
    case "utf16le":
    case "ucs2":
      return new Uint8Array(Uint16Array.from(text, (letter) => letter.charCodeAt(0)).buffer);
    default:
      throw new TypeError(`Unknown encoding: ${encoding}`);
  }
}

class Bytes extends Uint8Array {
  static from(value, encoding, length) {
    if (typeof value === "string") return Bytes.#over(encoded(value, encoding));
    if (value instanceof ArrayBuffer) return new Bytes(value, encoding, length);
    if (value?.type === "Buffer" && Array.isArray(value.data)) return Bytes.#over(Uint8Array.from(value.data));
    return Bytes.#over(Uint8Array.from(value));
  }
  static #over(bytes) {
    return new Bytes(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
  static alloc(size, fill, encoding) {
    const buffer = new Bytes(size);
    return fill === undefined ? buffer : buffer.fill(fill, 0, size, encoding);
  }
  static allocUnsafe(size) {
    return new Bytes(size);
  }
  static allocUnsafeSlow(size) {
    return new Bytes(size);
  }
  static of(...bytes) {
    return Bytes.from(bytes);
  }
  static isBuffer(value) {
    return value instanceof Bytes;
  }
  static isEncoding(encoding) {
    return ["utf8", "utf-8", "hex", "base64", "base64url", "latin1", "binary", "ascii", "utf16le", "ucs2"].includes(String(encoding).toLowerCase());
  }
  static byteLength(value, encoding) {
    return typeof value === "string" ? encoded(value, encoding).length : value.byteLength;
  }
  static concat(list, length = list.reduce((sum, part) => sum + part.length, 0)) {
    const whole = Bytes.alloc(length);
    let at = 0;
    for (const part of list) {
      whole.set(part.subarray(0, Math.max(0, length - at)), at);
      at += part.length;
      if (at >= length) break;
    }
    return whole;
  }
  static compare(one, two) {
    const length = Math.min(one.length, two.length);
    for (let at = 0; at < length; at++) if (one[at] !== two[at]) return one[at] < two[at] ? -1 : 1;
    return Math.sign(one.length - two.length);
  }
  toString(encoding = "utf8", start = 0, end = this.length) {
    const bytes = this.subarray(start, end);
    switch (String(encoding).toLowerCase()) {
      case "utf8":
      case "utf-8":
        return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
      case "hex":
        return toHex(bytes.slice().buffer);
      case "base64":
        return btoa(latin(bytes));
      case "base64url":
        return toUrl(btoa(latin(bytes)));
      case "latin1":
      case "binary":
        return latin(bytes);
      case "ascii":
        return latin(bytes.map((byte) => byte & 127));
      case "utf16le":
      case "ucs2":
        return String.fromCharCode(...new Uint16Array(bytes.slice().buffer));
      default:
        throw new TypeError(`Unknown encoding: ${encoding}`);
    }
  }
  toJSON() {
    return { type: "Buffer", data: [...this] };
  }
  equals(other) {
    return Bytes.compare(this, other) === 0;
  }
  compare(other) {
    return Bytes.compare(this, other);
  }
  subarray(start, end) {
    return Bytes.#over(new Uint8Array(this.buffer, this.byteOffset, this.byteLength).subarray(start, end));
  }
  slice(start, end) {
    // Of a Buffer this is a view, and of every other array a copy; here copies are what web APIs expect.
    return Bytes.#over(Uint8Array.prototype.slice.call(new Uint8Array(this.buffer, this.byteOffset, this.byteLength), start, end));
  }
  write(text, offset = 0, length = this.length - offset, encoding = "utf8") {
    const bytes = encoded(text, encoding).subarray(0, length);
    this.set(bytes, offset);
    return bytes.length;
  }
  copy(target, at = 0, start = 0, end = this.length) {
    const bytes = this.subarray(start, Math.min(end, start + target.length - at));
    target.set(bytes, at);
    return bytes.length;
  }
  fill(value, start = 0, end = this.length, encoding = "utf8") {
    if (typeof value === "number") return super.fill(value, start, end);
    const bytes = typeof value === "string" ? encoded(value, encoding) : value;
    for (let at = start; at < end && bytes.length; at++) this[at] = bytes[(at - start) % bytes.length];
    return this;
  }
  includes(value, from) {
    return this.indexOf(value, from) >= 0;
  }
  indexOf(value, from = 0, encoding = "utf8") {
    if (typeof value === "number") return super.indexOf(value, from);
    const bytes = typeof value === "string" ? encoded(value, encoding) : value;
    for (let at = from; at + bytes.length <= this.length; at++) if (bytes.every((byte, offset) => this[at + offset] === byte)) return at;
    return -1;
  }
}

// The class, which older packages call without `new`, and with a text.
export function Buffer(value, encoding, length) {
  if (typeof value === "string") return Bytes.from(value, encoding);
  if (typeof value === "number") return Reflect.construct(Bytes, [value], new.target ?? Bytes);
  return new.target && new.target !== Buffer ? Reflect.construct(Bytes, [value, encoding, length], new.target) : Bytes.from(value, encoding, length);
}
Object.setPrototypeOf(Buffer, Bytes);
Buffer.prototype = Bytes.prototype;
Object.defineProperty(Bytes.prototype, "constructor", { value: Buffer, writable: true, configurable: true });
Buffer.poolSize = 0;

// Numbers, in both orders of their bytes.
for (const [name, bytes] of Object.entries({ Uint8: 1, Int8: 1, Uint16: 2, Int16: 2, Uint32: 4, Int32: 4, BigUint64: 8, BigInt64: 8, Float32: 4, Float64: 8 })) {
  const node = name.replace(/^Uint/, "UInt").replace("BigUint", "BigUInt").replace("Float32", "Float").replace("Float64", "Double");
  for (const order of bytes === 1 ? [""] : ["LE", "BE"]) {
    Buffer.prototype[`read${node}${order}`] = function (at = 0) {
      return new DataView(this.buffer, this.byteOffset)[`get${name}`](at, order === "LE");
    };
    Buffer.prototype[`write${node}${order}`] = function (value, at = 0) {
      new DataView(this.buffer, this.byteOffset)[`set${name}`](at, value, order === "LE");
      return at + bytes;
    };
  }
}

export const constants = { MAX_LENGTH: 2 ** 31 - 1, MAX_STRING_LENGTH: 2 ** 29 - 24 };
export const [kMaxLength, kStringMaxLength, INSPECT_MAX_BYTES] = [constants.MAX_LENGTH, constants.MAX_STRING_LENGTH, 50];
export const isAscii = (bytes) => new Uint8Array(bufferOf(bytes)).every((byte) => byte < 128);
export function isUtf8(bytes) {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
export const transcode = (bytes, from, to) => Buffer.from(Buffer.from(bytes).toString(from), to);
export function SlowBuffer(size) {
  return Buffer.alloc(size);
}
export { Blob, File, atob, btoa };
export default { Buffer, Blob, File, atob, btoa, constants, kMaxLength, kStringMaxLength, INSPECT_MAX_BYTES, isAscii, isUtf8, transcode, SlowBuffer };
