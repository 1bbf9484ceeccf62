// Texts and bytes.
import { DOMException } from "thunderhead:dom_exception";
import natives from "thunderhead:natives";

// The bytes of a buffer or of a view, as a buffer of their own.
export function bufferOf(value) {
  if (value instanceof ArrayBuffer) return value;
  const { buffer, byteOffset, byteLength } = value;
  return byteOffset === 0 && byteLength === buffer.byteLength ? buffer : buffer.slice(byteOffset, byteOffset + byteLength);
}

export function concat(parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(new Uint8Array(part), at);
    at += part.byteLength;
  }
  return whole.buffer;
}

export const toHex = (bytes) => natives.toHex(bytes instanceof ArrayBuffer ? bytes : new Uint8Array(bytes).buffer);
export const fromHex = (digits) => natives.fromHex(digits);

// Bytes in which some are written as a percent sign and two digits. A `%` that no two digits follow stays.
export function percentDecoded(text) {
  const encoded = new Uint8Array(natives.encode(text));
  const bytes = [];
  for (let at = 0; at < encoded.length; at++) {
    const digits = encoded[at] === 0x25 ? String.fromCharCode(...encoded.subarray(at + 1, at + 3)) : "";
    const isByte = /^[0-9A-Fa-f]{2}$/.test(digits);
    bytes.push(isByte ? parseInt(digits, 16) : encoded[at]);
    if (isByte) at += 2;
  }
  return Uint8Array.from(bytes);
}

// Bytes of the simulator in JSON: a text when they are one.
export const fromBody = (body) => (typeof body === "string" ? natives.encode(body) : fromHex(body.hex));

export class TextEncoder {
  get encoding() {
    return "utf-8";
  }
  encode(text = "") {
    return new Uint8Array(natives.encode(String(text)));
  }
  encodeInto(text, into) {
    let read = 0;
    let written = 0;
    for (const character of String(text)) {
      const bytes = this.encode(character);
      if (written + bytes.length > into.length) break;
      into.set(bytes, written);
      read += character.length;
      written += bytes.length;
    }
    return { read, written };
  }
}

const LABELS = {
  "utf-8": ["utf-8", "utf8", "unicode-1-1-utf-8"],
  "utf-16le": ["utf-16le", "utf-16"],
  "windows-1252": ["latin1", "iso-8859-1", "ascii", "us-ascii", "windows-1252"],
};
// What 0x80 to 0x9f mean where other encodings have control characters.
const WINDOWS = "\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178";

const fromWindows = (bytes) => Array.from(bytes, (byte) => (byte >= 0x80 && byte < 0xa0 ? WINDOWS[byte - 0x80] : String.fromCharCode(byte))).join("");

function fromUtf16(bytes) {
  let text = "";
  for (let at = 0; at + 1 < bytes.length; at += 2) text += String.fromCharCode(bytes[at] | (bytes[at + 1] << 8));
  return text.toWellFormed();
}

export class TextDecoder {
  #rest = new Uint8Array(0);
  constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
    const [encoding] = Object.entries(LABELS).find(([, labels]) => labels.includes(String(label).trim().toLowerCase())) ?? [];
    if (encoding === undefined) throw new RangeError(`The encoding "${label}" is not simulated; ${Object.keys(LABELS).join(", ")} are.`);
    Object.assign(this, { encoding, fatal, ignoreBOM });
  }
  decode(input, { stream = false } = {}) {
    let bytes = new Uint8Array(concat([this.#rest.buffer, input === undefined ? new ArrayBuffer(0) : bufferOf(input)]));
    const cut = !stream ? 0 : this.encoding === "utf-8" ? unfinished(bytes) : this.encoding === "utf-16le" ? bytes.length % 2 : 0;
    this.#rest = bytes.slice(bytes.length - cut);
    bytes = bytes.slice(0, bytes.length - cut);
    if (this.encoding === "windows-1252") return fromWindows(bytes);
    const text = this.encoding === "utf-16le" ? fromUtf16(bytes) : natives.decode(bytes.buffer, this.fatal);
    return !this.ignoreBOM && text.startsWith("\ufeff") ? text.slice(1) : text;
  }
}

// How many bytes at the end begin a character that is not whole.
function unfinished(bytes) {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back];
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return back < length ? back : 0;
    }
    if (byte < 0x80) return 0;
  }
  return 0;
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function invalid() {
  return new DOMException("The string contains characters outside of what base64 allows.", "InvalidCharacterError");
}

export function btoa(data) {
  const text = String(data);
  let out = "";
  for (let at = 0; at < text.length; at += 3) {
    const codes = [0, 1, 2].map((offset) => text.charCodeAt(at + offset));
    if (codes.some((code) => code > 255)) throw invalid();
    const bits = (codes[0] << 16) | ((codes[1] || 0) << 8) | (codes[2] || 0);
    const letters = [18, 12, 6, 0].map((shift) => ALPHABET[(bits >> shift) & 63]);
    if (at + 1 >= text.length) letters[2] = "=";
    if (at + 2 >= text.length) letters[3] = "=";
    out += letters.join("");
  }
  return out;
}

export function atob(data) {
  let text = String(data).replace(/[\t\n\f\r ]/g, "");
  if (text.length % 4 === 0) text = text.replace(/==?$/, "");
  if (text.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(text)) throw invalid();
  let out = "";
  let bits = 0;
  let count = 0;
  for (const letter of text) {
    bits = (bits << 6) | ALPHABET.indexOf(letter);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out += String.fromCharCode((bits >> count) & 255);
      bits &= (1 << count) - 1;
    }
  }
  return out;
}

export const fromBase64Url = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0)).buffer;
export const toBase64Url = (bytes) => btoa(Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
