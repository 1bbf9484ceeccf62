// RSA where the host has none that gives the same answer every time: new keys, OAEP, and signing with PSS (RFC 8017).
import natives from "thunderhead:natives";
import { toBytes, toNumber } from "thunderhead:curve";
import * as der from "thunderhead:der";
import { DOMException } from "thunderhead:dom_exception";
import { PRIMES } from "thunderhead:rsa_keys";
import { concat, fromBase64Url, fromHex } from "thunderhead:text";

// The numbers of a key of RSA; a private one begins with its version.
export function numbers(key) {
  const all = der.parts(der.parts(key)[0].bytes).map(({ bytes }) => der.plain(bytes));
  return all.length > 2 ? all.slice(1, 9) : all;
}

const numberBytes = (number) => {
  const digits = number.toString(16);
  return fromHex(digits.padStart(digits.length + (digits.length % 2), "0"));
};

function inverse(value, by) {
  let [a, b, x, y] = [value % by, by, 1n, 0n];
  while (a > 1n) {
    const times = b / a;
    [a, b, x, y] = [b - times * a, a, y - times * x, x];
  }
  return x < 0n ? x + by : x;
}

const EXPONENT = 65537n;

// All numbers of a key that has these primes, as PKCS #1 writes them.
function privateKeyOf(p, q) {
  const d = inverse(EXPONENT, (p - 1n) * (q - 1n));
  const all = [0n, p * q, EXPONENT, d, p, q, d % (p - 1n), d % (q - 1n), inverse(q, p)];
  return der.part(der.SEQUENCE, ...all.map((number) => der.integer(numberBytes(number))));
}

// How many keys of each length were given already.
const given = {};

// A key of that length. The keys are fixed (`rsa_keys` says why) and are given in turn, so that two that are made one after the other differ.
export function nextPrivateKey({ modulusLength, publicExponent }) {
  const known = Object.hasOwn(PRIMES, modulusLength) ? PRIMES[modulusLength] : undefined;
  const exponent = ArrayBuffer.isView(publicExponent) ? toNumber(publicExponent.slice().buffer) : undefined;
  if (exponent === undefined) throw new TypeError('Missing field "publicExponent" in "algorithm".');
  if (!known || exponent !== EXPONENT) {
    const asked = `${modulusLength} bits and the public exponent ${exponent}`;
    throw new DOMException(`crypto.subtle.generateKey of RSA with ${asked} is not simulated; ${Object.keys(PRIMES).join(", ")} bits with 65537 are.`, "NotSupportedError");
  }
  const at = given[modulusLength] ?? 0;
  given[modulusLength] = at + 1;
  return privateKeyOf(...known[at % known.length].map((prime) => toNumber(fromBase64Url(prime))));
}

function power(base, exponent, modulus) {
  let result = 1n;
  for (const bit of exponent.toString(2)) {
    result = (result * result) % modulus;
    if (bit === "1") result = (result * base) % modulus;
  }
  return result;
}

const sizeOf = (bytes) => numbers(bytes)[0].byteLength;

function withPublic(key, data) {
  const [n, e] = numbers(key).map(toNumber);
  return toBytes(power(toNumber(data), e, n), sizeOf(key));
}

// With the two primes, which takes a quarter of the time.
function withPrivate(key, data) {
  const [, , , p, q, dp, dq, qi] = numbers(key).map(toNumber);
  const number = toNumber(data);
  const [one, two] = [power(number % p, dp, p), power(number % q, dq, q)];
  const times = (((one - two) * qi) % p + p) % p;
  return toBytes(two + times * q, sizeOf(key));
}

const xor = (one, two) => Uint8Array.from(new Uint8Array(one), (byte, at) => byte ^ new Uint8Array(two)[at]).buffer;

// As many bytes as are asked for, from a seed.
function mask(hash, seed, length) {
  const parts = [];
  for (let count = 0, size = 0; size < length; count++) {
    parts.push(natives.digest(hash, concat([seed, new Uint8Array([count >> 24, count >> 16, count >> 8, count]).buffer])));
    size += parts.at(-1).byteLength;
  }
  return concat(parts).slice(0, length);
}

export function sealedFor({ type, bytes, hash }, label, text, random) {
  if (type !== "public") throw new DOMException("The requested operation (encrypt) is not valid for the provided key.", "InvalidAccessError");
  const [size, known] = [sizeOf(bytes), natives.digest(hash, label)];
  const filling = size - text.byteLength - 2 * known.byteLength - 2;
  if (filling < 0) throw new DOMException("The message is too long for the key.", "OperationError");
  const data = concat([known, new ArrayBuffer(filling), new Uint8Array([1]).buffer, text]);
  const seed = random(known.byteLength);
  const hidden = xor(data, mask(hash, seed, data.byteLength));
  return withPublic(bytes, concat([new ArrayBuffer(1), xor(seed, mask(hash, hidden, seed.byteLength)), hidden]));
}

// Nothing if it was not sealed for this key and label.
export function openedWith({ type, bytes, hash }, label, sealed) {
  if (type !== "private") throw new DOMException("The requested operation (decrypt) is not valid for the provided key.", "InvalidAccessError");
  const known = new Uint8Array(natives.digest(hash, label));
  if (sealed.byteLength !== sizeOf(bytes)) return undefined;
  const whole = withPrivate(bytes, sealed);
  const [first, hidden] = [whole.slice(1, 1 + known.length), whole.slice(1 + known.length)];
  const seed = xor(first, mask(hash, hidden, known.length));
  const data = new Uint8Array(xor(hidden, mask(hash, seed, hidden.byteLength)));
  const end = data.indexOf(1, known.length);
  const fits = new Uint8Array(whole)[0] === 0 && known.every((byte, at) => byte === data[at]) && end > 0;
  return fits && data.subarray(known.length, end).every((byte) => byte === 0) ? data.slice(end + 1).buffer : undefined;
}

export function signedWithPss({ bytes }, hash, data, salt) {
  const size = sizeOf(bytes);
  const digest = natives.digest(hash, concat([new ArrayBuffer(8), natives.digest(hash, data), salt]));
  const filling = size - digest.byteLength - salt.byteLength - 2;
  if (filling < 0) throw new DOMException("The salt is too long for the key.", "OperationError");
  const plain = concat([new ArrayBuffer(filling), new Uint8Array([1]).buffer, salt]);
  const hidden = new Uint8Array(xor(plain, mask(hash, digest, plain.byteLength)));
  hidden[0] &= 0x7f;
  return withPrivate(bytes, concat([hidden.buffer, digest, new Uint8Array([0xbc]).buffer]));
}
