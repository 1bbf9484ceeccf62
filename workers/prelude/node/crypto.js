// `node:crypto`: digests, keyed codes and randomness.
import natives from "thunderhead:natives";
import { CryptoKey, crypto as webcrypto } from "thunderhead:crypto";
import { KeyObject, SecretKeyObject, createSecretKey, secretOf } from "thunderhead:key_object";
import { Buffer } from "node:buffer";
import { bufferOf, concat } from "thunderhead:text";

const NAMES = { md5: "MD5", sha1: "SHA-1", sha256: "SHA-256", sha384: "SHA-384", sha512: "SHA-512" };
const nameOf = (algorithm) => {
  const name = NAMES[String(algorithm).toLowerCase().replace("-", "")];
  if (!name) throw new Error(`Digest method not supported: ${algorithm}`);
  return name;
};
const begun = Symbol("begun");
const bytesOf = (data, encoding) => bufferOf(typeof data === "string" ? Buffer.from(data, encoding) : data);

// A digest in progress. Older programs call the constructor without `new`.
export function Hash(algorithm) {
  if (!new.target) return new Hash(algorithm);
  const name = nameOf(algorithm);
  this[begun] = { parts: [], finish: (bytes) => natives.digest(name, bytes) };
}
export function Hmac(algorithm, key) {
  if (!new.target) return new Hmac(algorithm, key);
  const [name, secret] = [nameOf(algorithm), secretOf(key)];
  this[begun] = { parts: [], finish: (bytes) => natives.hmac(name, secret, bytes) };
}
const finalized = () => Object.assign(new Error("Digest already called"), { code: "ERR_CRYPTO_HASH_FINALIZED" });
Hash.prototype.update = Hmac.prototype.update = function (data, encoding) {
  if (!this[begun].parts) throw finalized();
  this[begun].parts.push(bytesOf(data, encoding).slice(0));
  return this;
};
Hash.prototype.digest = Hmac.prototype.digest = function (encoding) {
  const { parts, finish } = this[begun];
  if (!parts) throw finalized();
  this[begun].parts = undefined;
  const bytes = Buffer.from(finish(concat(parts)));
  return encoding === undefined || encoding === "buffer" ? bytes : bytes.toString(encoding);
};
Hash.prototype.copy = function () {
  const { parts, finish } = this[begun];
  if (!parts) throw finalized();
  return Object.defineProperty(Object.create(Hash.prototype), begun, { value: { parts: [...parts], finish } });
};

export const createHash = (algorithm) => new Hash(algorithm);
export const createHmac = (algorithm, key) => new Hmac(algorithm, key);

export const hash = (algorithm, data, encoding = "hex") => createHash(algorithm).update(data).digest(encoding);
export const getHashes = () => Object.keys(NAMES);

// The result, or with a callback nothing: it is called later.
function toldTo(done, work) {
  if (typeof done !== "function") return work();
  try {
    const result = work();
    queueMicrotask(() => done(null, result));
  } catch (error) {
    queueMicrotask(() => done(error));
  }
}

// More than the web's function gives at once.
function filled(view) {
  const bytes = new Uint8Array(view.buffer ?? view, view.byteOffset ?? 0, view.byteLength);
  for (let at = 0; at < bytes.length; at += 65536) webcrypto.getRandomValues(bytes.subarray(at, at + 65536));
  return view;
}
export const randomBytes = (size, done) => toldTo(done, () => filled(Buffer.alloc(size)));
export const pseudoRandomBytes = randomBytes;
export const randomInt = (min, max, done) => {
  if (typeof max === "function") [max, done] = [undefined, max];
  const [from, to] = max === undefined ? [0, min] : [min, max];
  return toldTo(done, () => from + Math.floor(Math.random() * (to - from)));
};
export const randomFillSync = (view) => filled(view);
export const randomFill = (view, ...rest) => toldTo(rest.pop(), () => filled(view));
export const { randomUUID, getRandomValues, subtle } = webcrypto;
export const timingSafeEqual = (one, two) => {
  if (one.byteLength !== two.byteLength) throw Object.assign(new TypeError("Input buffers must have the same byte length."), { code: "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH" });
  return subtle.timingSafeEqual(one, two);
};
export const pbkdf2Sync = (password, salt, iterations, length, algorithm) => Buffer.from(natives.derive(nameOf(algorithm), iterations, length, bytesOf(password), bytesOf(salt)));
export const pbkdf2 = (password, salt, iterations, length, algorithm, done) => toldTo(done, () => pbkdf2Sync(password, salt, iterations, length, algorithm));
export const hkdfSync = (algorithm, key, salt, info, length) => natives.derive(nameOf(algorithm), 1, length, secretOf(key), bytesOf(salt), bytesOf(info));
export const hkdf = (algorithm, key, salt, info, length, done) => toldTo(done, () => hkdfSync(algorithm, key, salt, info, length));
export const generateKeySync = (type, { length }) => createSecretKey(randomBytes(length / 8));
export const generateKey = (type, options, done) => toldTo(done, () => generateKeySync(type, options));
export const [constants, fips] = [{}, false];
export { CryptoKey, KeyObject, SecretKeyObject, createSecretKey, webcrypto };
const digests = { createHash, createHmac, Hash, Hmac, hash, getHashes, pbkdf2Sync, pbkdf2, hkdfSync, hkdf, timingSafeEqual };
const random = { randomBytes, pseudoRandomBytes, randomInt, randomFillSync, randomFill, randomUUID, getRandomValues };
export default { ...digests, ...random, subtle, webcrypto, CryptoKey, KeyObject, SecretKeyObject, createSecretKey, generateKeySync, generateKey, constants, fips };
