// Keys of two halves: ECDSA and ECDH, Ed25519 and X25519, and RSA. Inside, a public half is a point, or the two numbers of RSA as
// PKCS #1 writes them; a private half is a number, or all numbers of RSA.
import { DOMException } from "thunderhead:dom_exception";
import natives from "thunderhead:natives";
import { CURVES, isOn, isSigned, multiply, secretFrom, signed, toBytes, toNumber } from "thunderhead:curve";
import * as der from "thunderhead:der";
import { nextPrivateKey, numbers, signedWithPss } from "thunderhead:rsa";
import { bufferOf, concat, fromBase64Url, fromHex, toBase64Url } from "thunderhead:text";
import { publicHalf, shared } from "thunderhead:x25519";

export { openedWith, sealedFor } from "thunderhead:rsa";

// Those whose halves are plain bytes.
const isPlain = (name) => name === "ED25519" || name === "X25519";
const isRsa = (name) => name.startsWith("RSA");
const SPELLED = { ED25519: "Ed25519", "RSASSA-PKCS1-V1_5": "RSASSA-PKCS1-v1_5" };
const RSA = ["n", "e", "d", "p", "q", "dp", "dq", "qi"];
const IDENTIFIERS = { "P-256": "2a8648ce3d030107", "P-384": "2b81040022", "P-521": "2b81040023", curve: "2a8648ce3d0201", ED25519: "2b6570", X25519: "2b656e", rsa: "2a864886f70d010101" };

const wrong = (what) => new DOMException(what, "DataError");

function curveOf({ namedCurve }) {
  const curve = CURVES[namedCurve];
  if (!curve) throw new DOMException(`crypto.subtle: the curve ${namedCurve} is not simulated; ${Object.keys(CURVES).join(", ")} are.`, "NotSupportedError");
  return curve;
}

const point = ([x, y], { size }) => concat([new Uint8Array([4]).buffer, toBytes(x, size), toBytes(y, size)]);
const coordinates = (bytes, { size }) => [bytes.slice(1, 1 + size), bytes.slice(1 + size)].map(toNumber);

// A public half that is no point of its curve would never verify anything.
function checked(bytes, curve) {
  if (bytes.byteLength !== 1 + 2 * curve.size || new Uint8Array(bytes)[0] !== 4 || !isOn(curve, coordinates(bytes, curve))) throw wrong("Invalid public key: it is no point of the curve.");
  return bytes;
}

function publicOf(name, algorithm, secret) {
  if (name === "ED25519") return natives.ed25519Public(secret) ?? undefined;
  if (name === "X25519") return publicHalf(secret);
  if (isRsa(name)) return der.part(der.SEQUENCE, ...numbers(secret).slice(0, 2).map(der.integer));
  const curve = curveOf(algorithm);
  return point(multiply(curve, toNumber(secret), curve.base), curve);
}

function fromJwk(name, algorithm, jwk) {
  const bytes = (field) => {
    if (typeof jwk[field] !== "string") throw wrong(`Invalid JSON Web Key: "${field}" is missing.`);
    return fromBase64Url(jwk[field]);
  };
  const kty = isRsa(name) ? "RSA" : isPlain(name) ? "OKP" : "EC";
  if (jwk?.kty !== kty) throw wrong(`Invalid JSON Web Key: "kty" must be "${kty}".`);
  const type = jwk.d === undefined ? "public" : "private";
  if (isRsa(name)) return { type, bytes: type === "public" ? der.part(der.SEQUENCE, ...["n", "e"].map((field) => der.integer(bytes(field)))) : der.part(der.SEQUENCE, der.integer(new ArrayBuffer(1)), ...RSA.map((field) => der.integer(bytes(field)))) };
  if (type === "private") return { type, bytes: bytes("d") };
  if (isPlain(name)) return { type, bytes: bytes("x") };
  return { type, bytes: checked(concat([new Uint8Array([4]).buffer, bytes("x"), bytes("y")]), curveOf(algorithm)) };
}

function fromSpki(name, algorithm, data) {
  const [, { bytes }] = der.parts(der.parts(data)[0].bytes);
  const key = bytes.slice(1);
  return { type: "public", bytes: isPlain(name) || isRsa(name) ? key : checked(key, curveOf(algorithm)) };
}

function fromPkcs8(name, data) {
  const { bytes } = der.parts(der.parts(data)[0].bytes)[2];
  if (isRsa(name)) return { type: "private", bytes };
  const [inner] = der.parts(bytes);
  return { type: "private", bytes: isPlain(name) ? inner.bytes : der.parts(inner.bytes)[1].bytes };
}

// The half of a key that was written in one of the standard's formats.
export function importPair(format, data, name, algorithm) {
  if (!isRsa(name) && !isPlain(name)) curveOf(algorithm);
  try {
    if (format === "jwk") return fromJwk(name, algorithm, data);
    if (format === "spki") return fromSpki(name, algorithm, bufferOf(data));
    if (format === "pkcs8") return fromPkcs8(name, bufferOf(data));
  } catch (error) {
    throw error instanceof DOMException ? error : wrong(`Invalid ${format} input: ${error.message}.`);
  }
  if (isRsa(name)) throw new DOMException(`Unrecognized key import format "${format}".`, "NotSupportedError");
  const bytes = bufferOf(data).slice(0);
  return { type: "public", bytes: isPlain(name) ? bytes : checked(bytes, curveOf(algorithm)) };
}

// How a program sees the algorithm of a key.
export function described(name, algorithm, { bytes }) {
  const spelled = SPELLED[name] ?? name;
  if (!isRsa(name)) return { name: spelled, ...(isPlain(name) ? {} : { namedCurve: algorithm.namedCurve }) };
  const [modulus, exponent] = numbers(bytes);
  const hash = { name: String(algorithm.hash?.name ?? algorithm.hash).toUpperCase() };
  return { name: spelled, modulusLength: modulus.byteLength * 8, publicExponent: new Uint8Array(exponent), hash };
}

// Both halves of a new key.
export function generatePair(name, algorithm, random) {
  const secret = isRsa(name) ? nextPrivateKey(algorithm) : isPlain(name) ? random(32) : toBytes(secretFrom(curveOf(algorithm), random(curveOf(algorithm).size + 16)), curveOf(algorithm).size);
  return { privateKey: { type: "private", bytes: secret }, publicKey: { type: "public", bytes: publicOf(name, algorithm, secret) } };
}

function toJwk(name, algorithm, { type, bytes }) {
  const named = (fields) => Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, toBase64Url(value)]));
  if (isRsa(name)) return { kty: "RSA", ...named(Object.fromEntries(numbers(bytes).map((number, at) => [RSA[at], number]))) };
  const half = type === "public" ? bytes : publicOf(name, algorithm, bytes);
  const secret = type === "private" ? named({ d: bytes }) : {};
  if (isPlain(name)) return { kty: "OKP", crv: SPELLED[name] ?? name, ...named({ x: half }), ...secret };
  const { size } = curveOf(algorithm);
  return { kty: "EC", crv: algorithm.namedCurve, ...named({ x: half.slice(1, 1 + size), y: half.slice(1 + size) }), ...secret };
}

function identifier(name, algorithm) {
  const part = (digits) => der.part(der.NAME, fromHex(digits));
  if (isRsa(name)) return der.part(der.SEQUENCE, part(IDENTIFIERS.rsa), new Uint8Array([5, 0]).buffer);
  if (isPlain(name)) return der.part(der.SEQUENCE, part(IDENTIFIERS[name]));
  return der.part(der.SEQUENCE, part(IDENTIFIERS.curve), part(IDENTIFIERS[algorithm.namedCurve]));
}

function toPkcs8(name, algorithm, { bytes }) {
  const version = der.integer(new ArrayBuffer(1));
  const inner = isRsa(name) ? bytes : isPlain(name) ? der.part(der.OCTETS, bytes) : der.part(der.SEQUENCE, der.integer(new Uint8Array([1]).buffer), der.part(der.OCTETS, bytes));
  return der.part(der.SEQUENCE, version, identifier(name, algorithm), der.part(der.OCTETS, inner));
}

export function exportPair(format, name, algorithm, key) {
  if (format === "jwk") return toJwk(name, algorithm, key);
  if (format === "pkcs8" && key.type === "private") return toPkcs8(name, algorithm, key);
  if (format === "spki" && key.type === "public") return der.part(der.SEQUENCE, identifier(name, algorithm), der.part(der.BITS, new ArrayBuffer(1), key.bytes));
  if (format === "raw" && key.type === "public" && !isRsa(name)) return key.bytes.slice(0);
  throw new DOMException(`A ${key.type} key of ${name} cannot be exported as "${format}".`, "InvalidAccessError");
}

const notSimulated = (what) => new DOMException(`crypto.subtle.${what} is not simulated.`, "NotSupportedError");

// What the host calls an algorithm.
const full = (name, algorithm, hash) => (name === "ED25519" ? name : `${name}${isRsa(name) ? "" : ` ${algorithm.namedCurve}`} ${hash}`);

export function signPair(name, algorithm, hash, { bytes }, data, random, saltLength) {
  if (name === "ECDSA") {
    const curve = curveOf(algorithm);
    return concat(signed(curve, toNumber(bytes), natives.digest(hash, data), secretFrom(curve, random(curve.size + 16))));
  }
  if (name === "RSA-PSS") return signedWithPss({ bytes }, hash, data, random(saltLength ?? 0));
  const signature = natives.sign(full(name, algorithm, hash), bytes, data);
  if (!signature) throw notSimulated(`sign with ${name} and ${hash}, or with this key,`);
  return signature;
}

export function verifyPair(name, algorithm, hash, { type, bytes }, signature, data) {
  const key = type === "public" ? bytes : publicOf(name, algorithm, bytes);
  const holds = natives.verify(full(name, algorithm, hash), key, data, signature);
  if (typeof holds !== "boolean" && name === "ECDSA") {
    const curve = curveOf(algorithm);
    return isSigned(curve, coordinates(key, curve), natives.digest(hash, data), signature);
  }
  if (typeof holds !== "boolean") throw notSimulated(`verify with ${full(name, algorithm, hash)}`);
  return holds;
}

// The number that two keys share.
export function sharedSecret(algorithm, mine, theirs) {
  if (algorithm.name === "X25519") return shared(mine.bytes, theirs.bytes);
  const curve = curveOf(algorithm);
  const [x] = multiply(curve, toNumber(mine.bytes), coordinates(theirs.bytes, curve));
  return toBytes(x, curve.size);
}
