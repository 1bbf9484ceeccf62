// `node:crypto`: digests, keyed codes and randomness.
import natives from "thunderhead:natives";
import { crypto as webcrypto } from "thunderhead:crypto";
import { Buffer } from "node:buffer";
import { bufferOf, concat } from "thunderhead:text";

const NAMES = { md5: "MD5", sha1: "SHA-1", sha256: "SHA-256", sha384: "SHA-384", sha512: "SHA-512" };
const nameOf = (algorithm) => {
  const name = NAMES[String(algorithm).toLowerCase().replace("-", "")];
  if (!name) throw new Error(`Digest method not supported: ${algorithm}`);
  return name;
};
const bytesOf = (data, encoding) => bufferOf(typeof data === "string" ? Buffer.from(data, encoding) : data);

class Hash {
  #parts = [];
  #finish;
  constructor(finish) {
    this.#finish = finish;
  }
  update(data, encoding) {
    this.#parts.push(bytesOf(data, encoding).slice(0));
    return this;
  }
  digest(encoding) {
    const bytes = Buffer.from(this.#finish(concat(this.#parts)));
    return encoding === undefined ? bytes : bytes.toString(encoding);
  }
}

export function createHash(algorithm) {
  const name = nameOf(algorithm);
  return new Hash((bytes) => natives.digest(name, bytes));
}

export function createHmac(algorithm, key) {
  const [name, secret] = [nameOf(algorithm), bytesOf(key).slice(0)];
  return new Hash((bytes) => natives.hmac(name, secret, bytes));
}

export const hash = (algorithm, data, encoding = "hex") => createHash(algorithm).update(data).digest(encoding);
export const getHashes = () => Object.keys(NAMES);
export const randomBytes = (size) => webcrypto.getRandomValues(Buffer.alloc(size));
export const randomInt = (min, max) => {
  const [from, to] = max === undefined ? [0, min] : [min, max];
  return from + Math.floor(Math.random() * (to - from));
};
export const randomFillSync = (view) => webcrypto.getRandomValues(view);
export const { randomUUID, getRandomValues, subtle } = webcrypto;
export const timingSafeEqual = (one, two) => {
  if (one.byteLength !== two.byteLength) throw new RangeError("Input buffers must have the same byte length");
  return subtle.timingSafeEqual(one, two);
};
const missing = (name) => () => {
  throw new Error(`node:crypto.${name} is not simulated; digests, HMAC, PBKDF2 and randomness are.`);
};
export const createCipheriv = missing("createCipheriv");
export const createDecipheriv = missing("createDecipheriv");
export const createSign = missing("createSign");
export const createVerify = missing("createVerify");
export const pbkdf2Sync = (password, salt, iterations, length, algorithm) => Buffer.from(natives.derive(nameOf(algorithm), iterations, length, bytesOf(password), bytesOf(salt)));
export const pbkdf2 = (password, salt, iterations, length, algorithm, done) => {
  const derived = pbkdf2Sync(password, salt, iterations, length, algorithm);
  queueMicrotask(() => done(null, derived));
};
export const scryptSync = missing("scryptSync");
export const scrypt = missing("scrypt");
export const generateKeyPairSync = missing("generateKeyPairSync");
export { webcrypto };
export default { createHash, createHmac, hash, getHashes, randomBytes, randomInt, randomFillSync, randomUUID, getRandomValues, subtle, timingSafeEqual, webcrypto, createCipheriv, createDecipheriv, createSign, createVerify, pbkdf2Sync, pbkdf2, scryptSync, scrypt, generateKeyPairSync };
