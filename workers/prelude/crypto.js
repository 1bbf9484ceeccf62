// Randomness, digests and keyed codes. What is missing says so when it is called.
import { DOMException } from "thunderhead:dom_exception";
import natives from "thunderhead:natives";
import { atob, btoa, bufferOf, fromHex } from "thunderhead:text";

function randomUUID() {
  const text = natives.unique();
  const variant = "89ab"[parseInt(text[16], 16) & 3];
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-4${text.slice(13, 16)}-${variant}${text.slice(17, 20)}-${text.slice(20, 32)}`;
}

function getRandomValues(view) {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  if (bytes.length > 65536) throw new DOMException("getRandomValues() only accepts buffers of size <= 65536 bytes.", "QuotaExceededError");
  for (let at = 0; at < bytes.length; at += 16) bytes.set(new Uint8Array(fromHex(natives.unique())).subarray(0, bytes.length - at), at);
  return view;
}

const nameOf = (algorithm) => String(typeof algorithm === "string" ? algorithm : algorithm?.name).toUpperCase();
const secrets = new WeakMap();

export class CryptoKey {}

// What keys are made for. Of ciphers there are keys and nothing else.
const KEYS = ["HMAC", "PBKDF2", "HKDF", "AES-GCM", "AES-CBC", "AES-CTR", "AES-KW"];
const notSimulated = (what, instead) => new DOMException(`crypto.subtle.${what} is not simulated; ${instead}.`, "NotSupportedError");

function need(algorithms, algorithm, operation) {
  const name = nameOf(algorithm);
  if (!algorithms.includes(name)) throw notSimulated(`${operation} with ${name}`, `${algorithms.join(", ")} ${algorithms.length > 1 ? "are" : "is"}`);
  return name;
}

const fromBase64Url = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0)).buffer;
const toBase64Url = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

async function importKey(format, data, algorithm, extractable, usages) {
  const name = need(KEYS, algorithm, "importKey");
  if (format !== "raw" && format !== "jwk") throw notSimulated(`importKey of the format ${format}`, "raw and jwk are");
  if (format === "jwk" && data?.kty !== "oct") throw new DOMException(`Invalid JSON Web Key: "kty" must be "oct".`, "DataError");
  const bytes = format === "raw" ? bufferOf(data).slice(0) : fromBase64Url(data.k);
  const hash = name === "HMAC" ? nameOf(algorithm.hash) : null;
  const described = { name, ...(hash ? { hash: { name: hash }, length: bytes.byteLength * 8 } : name.startsWith("AES") ? { length: bytes.byteLength * 8 } : {}) };
  const key = Object.assign(new CryptoKey(), { type: "secret", extractable, algorithm: described, usages });
  secrets.set(key, { bytes, hash });
  return key;
}

async function deriveBits(algorithm, key, length) {
  const name = need(["PBKDF2", "HKDF"], algorithm, "deriveBits");
  const { salt, info = new Uint8Array(0), iterations = 1 } = algorithm;
  if (name === "PBKDF2" && iterations > 100_000) throw new DOMException(`Pbkdf2 failed: iteration counts above 100000 are not supported (requested ${iterations}).`, "NotSupportedError");
  const extra = name === "HKDF" ? [bufferOf(info)] : [];
  return natives.derive(nameOf(algorithm.hash), iterations, length / 8, secrets.get(key).bytes, bufferOf(salt ?? new Uint8Array(0)), ...extra);
}

const lengthOf = ({ length, hash }) => length ?? (/384|512/.test(nameOf(hash)) ? 1024 : 512);

async function deriveKey(algorithm, key, wanted, extractable, usages) {
  return importKey("raw", await deriveBits(algorithm, key, lengthOf(wanted)), wanted, extractable, usages);
}

async function sign(algorithm, key, data) {
  need(["HMAC"], algorithm, "sign");
  const { bytes, hash } = secrets.get(key);
  return natives.hmac(hash, bytes, bufferOf(data));
}

async function verify(algorithm, key, signature, data) {
  return timingSafeEqual(await sign(algorithm, key, data), signature);
}

function timingSafeEqual(one, two) {
  const [left, right] = [new Uint8Array(bufferOf(one)), new Uint8Array(bufferOf(two))];
  return left.length === right.length && left.every((byte, at) => byte === right[at]);
}

const subtle = {
  digest: async (algorithm, data) => natives.digest(nameOf(algorithm), bufferOf(data)),
  importKey,
  sign,
  verify,
  timingSafeEqual,
};
async function generateKey(algorithm, extractable, usages) {
  need(KEYS.filter((name) => !["PBKDF2", "HKDF"].includes(name)), algorithm, "generateKey");
  return importKey("raw", getRandomValues(new Uint8Array(lengthOf(algorithm) / 8)), algorithm, extractable, usages);
}

async function exportKey(format, key) {
  if (!key.extractable) throw new DOMException(`Attempt to export non-extractable ${key.algorithm.name} key.`, "InvalidAccessError");
  if (format !== "raw" && format !== "jwk") throw notSimulated(`exportKey to the format ${format}`, "raw and jwk are");
  const { bytes } = secrets.get(key);
  return format === "raw" ? bytes.slice(0) : { kty: "oct", k: toBase64Url(bytes), ext: true, key_ops: [...key.usages] };
}
Object.assign(subtle, { generateKey, exportKey, deriveBits, deriveKey });

for (const name of ["encrypt", "decrypt", "wrapKey", "unwrapKey"]) {
  subtle[name] = async (algorithm) => {
    throw notSimulated(`${name} with ${nameOf(algorithm)}`, "digests, HMAC, PBKDF2 and HKDF are");
  };
}

export const crypto = { randomUUID, getRandomValues, subtle };
