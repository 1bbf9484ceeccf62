// Randomness, digests, keyed codes, ciphers and signatures. What is missing says so when it is called.
import { DOMException } from "thunderhead:dom_exception";
import natives from "thunderhead:natives";
import { part } from "thunderhead:part";
import { WritableStream } from "thunderhead:streams";
import { bufferOf, concat, fromBase64Url, fromHex, toBase64Url } from "thunderhead:text";
import { PAIRS, algOf, checkImport, checkNew, checkUse, inOrder } from "thunderhead:usages";

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

const pairs = () => part("thunderhead:key_pair");

const random = (size) => getRandomValues(new Uint8Array(size)).buffer;

const nameOf = (algorithm) => String(typeof algorithm === "string" ? algorithm : algorithm?.name).toUpperCase().replace("NODE-", "");
// What a key is inside: the bytes, which half they are, and the digest that it is for.
const insides = new WeakMap();
const inside = (key) => {
  const found = insides.get(key);
  if (!found) throw new TypeError("Failed to execute a method of 'SubtleCrypto': the key is not of type 'CryptoKey'.");
  return found;
};

// Keys are made by the functions of `crypto.subtle` alone.
const token = Symbol("token");
export class CryptoKey {
  constructor(given) {
    if (given !== token) throw new TypeError("Illegal constructor");
  }
}

// What secrets are made for.
const SECRETS = ["HMAC", "PBKDF2", "HKDF", "AES-GCM", "AES-CBC", "AES-CTR", "AES-KW"];
const SIGNING = PAIRS.filter((pair) => !["ECDH", "X25519", "RSA-OAEP"].includes(pair));
const notSimulated = (what, instead) => new DOMException(`crypto.subtle.${what} is not simulated; ${instead}.`, "NotSupportedError");

function need(algorithms, algorithm, operation) {
  const name = nameOf(algorithm);
  if (!algorithms.includes(name)) throw notSimulated(`${operation} with ${name}`, `${algorithms.join(", ")} ${algorithms.length > 1 ? "are" : "is"}`);
  return name;
}

function keyOf(type, algorithm, extractable, usages, kept) {
  const key = Object.assign(new CryptoKey(token), { type, extractable, algorithm, usages: inOrder([...usages]) });
  insides.set(key, { type, ...kept });
  return key;
}

function pairKey(name, algorithm, half, extractable, usages) {
  const hash = algorithm.hash === undefined ? undefined : nameOf(algorithm.hash);
  return keyOf(half.type, pairs().described(name, algorithm, half), extractable, usages, { bytes: half.bytes, hash });
}

async function importKey(format, data, algorithm, extractable, usages) {
  const name = need([...SECRETS, ...PAIRS], algorithm, "importKey");
  if (PAIRS.includes(name)) {
    const half = pairs().importPair(format, data, name, algorithm);
    checkImport(name, pairs().described(name, algorithm, half).name, half.type, usages);
    return pairKey(name, algorithm, half, extractable, usages);
  }
  if (format !== "raw" && format !== "jwk") throw notSimulated(`importKey of ${name} in the format ${format}`, "raw and jwk are");
  if (format === "jwk" && data?.kty !== "oct") throw new DOMException(`Invalid JSON Web Key: "kty" must be "oct".`, "DataError");
  const bytes = format === "raw" ? bufferOf(data).slice(0) : fromBase64Url(data.k);
  const isCipher = name.startsWith("AES");
  if (isCipher && ![16, 24, 32].includes(bytes.byteLength)) throw new DOMException(`Imported AES key length must be 128, 192, or 256 bits but provided ${bytes.byteLength * 8}.`, "DataError");
  const hash = name === "HMAC" ? hashOf(algorithm) : undefined;
  checkImport(name, name, "secret", usages);
  if (extractable && (name === "PBKDF2" || name === "HKDF")) throw new DOMException(`${name} key cannot be extractable.`, "SyntaxError");
  const shown = { name, ...(hash ? { hash: { name: hash } } : {}), ...(hash || isCipher ? { length: bytes.byteLength * 8 } : {}) };
  const alg = algOf(name, shown);
  if (hash && format === "jwk" && data.alg !== undefined && data.alg !== alg) throw new DOMException(`HMAC "jwk" key import specifies "alg" that is incompatible with the hash name (encountered "${data.alg}", expected "${alg}").`, "DataError");
  return keyOf("secret", shown, extractable, usages, { bytes, hash });
}

const DIGESTS = ["MD5", "SHA-1", "SHA-256", "SHA-384", "SHA-512"];

function digestOf(algorithm) {
  const name = nameOf(algorithm);
  if (!DIGESTS.includes(name)) throw new DOMException("Unrecognized or unimplemented digest algorithm requested.", "NotSupportedError");
  return name;
}

function hashOf({ hash }) {
  if (hash === undefined) throw new TypeError('Missing field "hash" in "algorithm".');
  return digestOf(hash);
}

const deriveBits = async (algorithm, key, length) => derived("deriveBits", algorithm, key, length);

async function derived(usage, algorithm, key, length) {
  const name = need(["PBKDF2", "HKDF", "ECDH", "X25519"], algorithm, usage);
  checkUse(key, name, algorithm.name ?? algorithm, usage);
  if (name === "ECDH" || name === "X25519") return pairs().sharedSecret(key.algorithm, inside(key), inside(algorithm.public)).slice(0, length ? length / 8 : undefined);
  const { salt, info = new Uint8Array(0), iterations = 1 } = algorithm;
  if (name === "PBKDF2" && iterations > 100_000) throw new DOMException(`Pbkdf2 failed: iteration counts above 100000 are not supported (requested ${iterations}).`, "NotSupportedError");
  const extra = name === "HKDF" ? [bufferOf(info)] : [];
  return natives.derive(nameOf(algorithm.hash), iterations, length / 8, inside(key).bytes, bufferOf(salt ?? new Uint8Array(0)), ...extra);
}

const lengthOf = ({ length, hash }) => length ?? (/384|512/.test(nameOf(hash)) ? 1024 : 512);

async function deriveKey(algorithm, key, wanted, extractable, usages) {
  return importKey("raw", await derived("deriveKey", algorithm, key, lengthOf(wanted)), wanted, extractable, usages);
}

async function sign(algorithm, key, data) {
  const name = need(["HMAC", ...SIGNING], algorithm, "sign");
  inside(key);
  checkUse(key, name, algorithm.name ?? algorithm, "sign");
  const { bytes, hash } = inside(key);
  if (name === "HMAC") return natives.hmac(hash, bytes, bufferOf(data));
  return pairs().signPair(name, key.algorithm, hash ?? nameOf(algorithm.hash), inside(key), bufferOf(data), random, algorithm.saltLength);
}

async function verify(algorithm, key, signature, data) {
  const name = need(["HMAC", ...SIGNING], algorithm, "verify");
  const { bytes, hash } = inside(key);
  checkUse(key, name, algorithm.name ?? algorithm, "verify");
  if (name === "HMAC") return areEqual(natives.hmac(hash, bytes, bufferOf(data)), signature);
  return pairs().verifyPair(name, key.algorithm, inside(key).hash ?? nameOf(algorithm.hash), inside(key), bufferOf(signature), bufferOf(data));
}

const CIPHERS = ["AES-GCM", "AES-CBC", "AES-CTR", "RSA-OAEP"];
const FAILED = "Decryption failed. This could be due to a ciphertext authentication failure, bad padding, incorrect CryptoKey, or another algorithm-specific reason.";
const failure = (what) => new DOMException(what, "OperationError");

// A field of an algorithm that is bytes, of that many if a number is given.
function field(algorithm, name, size) {
  if (algorithm[name] === undefined) throw new TypeError(`Missing field "${name}" in "algorithm".`);
  const bytes = bufferOf(algorithm[name]);
  if (size !== undefined && bytes.byteLength !== size) throw failure(`${nameOf(algorithm)} ${name} must be ${size} bytes long (provided ${bytes.byteLength}).`);
  return bytes;
}

function gcm(work, algorithm, key, data) {
  const { additionalData = new Uint8Array(0), tagLength = 128 } = algorithm;
  if (![32, 64, 96, 104, 112, 120, 128].includes(tagLength)) throw failure(`Invalid AES-GCM tag length ${tagLength}.`);
  return work(key, field(algorithm, "iv"), bufferOf(additionalData), data, tagLength / 8);
}

function counted(algorithm, key, data) {
  const { length } = algorithm;
  if (!(length >= 1 && length <= 128)) throw failure("Counter length must be between 1 and 128 bits.");
  return natives.ctr(key, field(algorithm, "counter", 16), length, data);
}

const chained = (work) => (algorithm, key, data) => work(key, field(algorithm, "iv", 16), data);

const ENCRYPT = { "AES-GCM": (...given) => gcm(natives.seal, ...given), "AES-CBC": chained(natives.cbcEncrypt), "AES-CTR": counted };
const DECRYPT = { "AES-GCM": (...given) => gcm(natives.open, ...given), "AES-CBC": chained(natives.cbcDecrypt), "AES-CTR": counted };

// The bytes of a key, if it is one for that algorithm and for that use.
function bytesFor(name, key, usage) {
  const { bytes } = inside(key);
  checkUse(key, name, name, usage);
  return bytes;
}

const encrypt = async (algorithm, key, data) => sealed("encrypt", algorithm, key, data);
const decrypt = async (algorithm, key, data) => opened("decrypt", algorithm, key, data);

async function sealed(usage, algorithm, key, data) {
  const name = need(CIPHERS, algorithm, usage);
  const bytes = bytesFor(name, key, usage);
  return name === "RSA-OAEP" ? pairs().sealedFor(inside(key), bufferOf(algorithm.label ?? new ArrayBuffer(0)), bufferOf(data), random) : ENCRYPT[name](algorithm, bytes, bufferOf(data));
}

async function opened(usage, algorithm, key, data) {
  const name = need(CIPHERS, algorithm, usage);
  const bytes = bytesFor(name, key, usage);
  const text = name === "RSA-OAEP" ? pairs().openedWith(inside(key), bufferOf(algorithm.label ?? new ArrayBuffer(0)), bufferOf(data)) : DECRYPT[name](algorithm, bytes, bufferOf(data));
  if (!text) throw failure(FAILED);
  return text;
}

// A key as bytes, wrapped in another.
async function wrapKey(format, key, wrapping, algorithm) {
  const exported = await exportKey(format, key);
  const bytes = format === "jwk" ? natives.encode(JSON.stringify(exported)) : exported;
  if (need(["AES-KW", ...CIPHERS], algorithm, "wrapKey") !== "AES-KW") return sealed("wrapKey", algorithm, wrapping, bytes);
  const wrapped = natives.wrap(bytesFor("AES-KW", wrapping, "wrapKey"), new ArrayBuffer(0), bytes);
  if (!wrapped) throw failure("A key that AES-KW wraps is made of two or more times 8 bytes.");
  return wrapped;
}

async function unwrapKey(format, wrapped, wrapping, algorithm, ...given) {
  const isPlain = need(["AES-KW", ...CIPHERS], algorithm, "unwrapKey") === "AES-KW";
  const bytes = isPlain ? natives.unwrap(bytesFor("AES-KW", wrapping, "unwrapKey"), new ArrayBuffer(0), bufferOf(wrapped)) : await opened("unwrapKey", algorithm, wrapping, wrapped);
  if (!bytes) throw failure(FAILED);
  return importKey(format, format === "jwk" ? JSON.parse(natives.decode(bytes, false)) : bytes, ...given);
}

function areEqual(one, two) {
  const [left, right] = [new Uint8Array(bufferOf(one)), new Uint8Array(bufferOf(two))];
  return left.length === right.length && left.every((byte, at) => byte === right[at]);
}

function timingSafeEqual(one, two) {
  if (one.byteLength !== two.byteLength) throw new TypeError("Input buffers must have the same byte length.");
  return areEqual(one, two);
}

const HASHES = ["SHA-1", "SHA-256", "SHA-384", "SHA-512"];

// What a new key of RSA is for, and with which digest: a key keeps both.
function checkRsa(name, algorithm, usages) {
  if (algorithm.hash === undefined) throw new TypeError('Missing field "hash" in "algorithm".');
  if (!HASHES.includes(nameOf(algorithm.hash))) throw notSimulated(`generateKey with ${name} and ${nameOf(algorithm.hash)}`, `${HASHES.join(", ")} are`);
  const [open, secret] = name === "RSA-OAEP" ? [["encrypt", "wrapKey"], ["decrypt", "unwrapKey"]] : [["verify"], ["sign"]];
  const other = usages.find((usage) => ![...open, ...secret].includes(usage));
  if (other !== undefined) throw new DOMException(`A key of ${algorithm.name} cannot be used for "${other}".`, "SyntaxError");
  if (!secret.some((usage) => usages.includes(usage))) throw new DOMException("Usages cannot be empty when creating a private key.", "SyntaxError");
}

async function generateKey(algorithm, extractable, usages) {
  const name = need([...SECRETS.filter((secret) => !["PBKDF2", "HKDF"].includes(secret)), ...PAIRS], algorithm, "generateKey");
  if (name === "HMAC") hashOf(algorithm);
  if (name.startsWith("RSA")) checkRsa(name, algorithm, usages);
  else checkNew(name, name === "ED25519" ? "Ed25519" : name, usages);
  if (!PAIRS.includes(name)) return importKey("raw", random(lengthOf(algorithm) / 8), algorithm, extractable, usages);
  const { privateKey, publicKey } = pairs().generatePair(name, algorithm, random);
  const given = typeof algorithm === "string" ? { name } : algorithm;
  const mine = ["sign", "deriveBits", "deriveKey", "decrypt", "unwrapKey"].filter((usage) => usages.includes(usage));
  const theirs = ["verify", "encrypt", "wrapKey"].filter((usage) => usages.includes(usage));
  return { publicKey: pairKey(name, given, publicKey, true, theirs), privateKey: pairKey(name, given, privateKey, extractable, mine) };
}

async function exportKey(format, key) {
  if (!key.extractable) throw new DOMException(`Attempt to export non-extractable ${key.algorithm.name} key.`, "InvalidAccessError");
  const rights = { ext: true, key_ops: [...key.usages] };
  const named = (alg) => (alg === undefined ? {} : { alg });
  const name = nameOf(key.algorithm);
  if (PAIRS.includes(name)) {
    const exported = pairs().exportPair(format, name, key.algorithm, inside(key));
    return format === "jwk" ? { ...exported, ...named(algOf(name, key.algorithm)), ...rights } : exported;
  }
  if (format !== "raw" && format !== "jwk") throw notSimulated(`exportKey of ${name} to the format ${format}`, "raw and jwk are");
  const { bytes } = inside(key);
  return format === "raw" ? bytes.slice(0) : { kty: "oct", k: toBase64Url(bytes), ...named(algOf(name, key.algorithm)), ...rights };
}

const subtle = { digest: async (algorithm, data) => natives.digest(digestOf(algorithm), bufferOf(data)), importKey, exportKey, generateKey, deriveBits, deriveKey, sign, verify, encrypt, decrypt, wrapKey, unwrapKey, timingSafeEqual };

// A stream that nothing comes out of but the digest of what was written.
class DigestStream extends WritableStream {
  constructor(algorithm) {
    const { promise, resolve, reject } = Promise.withResolvers();
    const parts = [];
    promise.catch(() => {});
    super({
      write: (chunk) => void parts.push(typeof chunk === "string" ? natives.encode(chunk) : bufferOf(chunk).slice(0)),
      close: () => resolve(natives.digest(nameOf(algorithm), concat(parts))),
      abort: reject,
    });
    this.digest = promise;
  }
}

export const crypto = { randomUUID, getRandomValues, subtle, DigestStream };
