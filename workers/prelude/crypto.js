// Randomness, digests and keyed codes. What is missing says so when it is called.
import { DOMException } from "thunderhead:dom_exception";
import natives from "thunderhead:natives";
import { bufferOf, fromHex } from "thunderhead:text";

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

function needHmac(algorithm, operation) {
  if (nameOf(algorithm) !== "HMAC") throw new DOMException(`crypto.subtle.${operation} with ${nameOf(algorithm)} is not simulated; HMAC is.`, "NotSupportedError");
}

async function importKey(format, data, algorithm, extractable, usages) {
  needHmac(algorithm, "importKey");
  if (format !== "raw") throw new DOMException(`crypto.subtle.importKey of the format ${format} is not simulated; raw is.`, "NotSupportedError");
  const hash = nameOf(algorithm.hash);
  const key = Object.assign(new CryptoKey(), { type: "secret", extractable, algorithm: { name: "HMAC", hash: { name: hash } }, usages });
  secrets.set(key, { bytes: bufferOf(data).slice(0), hash });
  return key;
}

async function sign(algorithm, key, data) {
  needHmac(algorithm, "sign");
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
  needHmac(algorithm, "generateKey");
  const size = (algorithm.length ?? (nameOf(algorithm.hash) === "SHA-512" || nameOf(algorithm.hash) === "SHA-384" ? 1024 : 512)) / 8;
  return importKey("raw", getRandomValues(new Uint8Array(size)), algorithm, extractable, usages);
}

async function exportKey(format, key) {
  if (!key.extractable) throw new DOMException("Attempt to export non-extractable HMAC key.", "InvalidAccessError");
  if (format !== "raw") throw new DOMException(`crypto.subtle.exportKey to the format ${format} is not simulated; raw is.`, "NotSupportedError");
  return secrets.get(key).bytes.slice(0);
}
Object.assign(subtle, { generateKey, exportKey });

for (const name of ["encrypt", "decrypt", "deriveKey", "deriveBits", "wrapKey", "unwrapKey"]) {
  subtle[name] = async () => {
    throw new DOMException(`crypto.subtle.${name} is not simulated.`, "NotSupportedError");
  };
}

export const crypto = { randomUUID, getRandomValues, subtle };
