// The keys of `node:crypto`: those that are secrets.
import { Buffer } from "node:buffer";
import { bufferOf, toBase64Url } from "thunderhead:text";

const made = Symbol("made");
const bytesOf = (data, encoding) => bufferOf(typeof data === "string" ? Buffer.from(data, encoding) : data).slice(0);

export class KeyObject {
  #type;
  constructor(token, type) {
    if (token !== made) throw new Error("Illegal constructor");
    this.#type = type;
  }
  get type() {
    return this.#type;
  }
  get [Symbol.toStringTag]() {
    return "KeyObject";
  }
}

export class SecretKeyObject extends KeyObject {
  #bytes;
  constructor(token, bytes) {
    super(token, "secret");
    this.#bytes = bytes;
  }
  get symmetricKeySize() {
    return this.#bytes.byteLength;
  }
  export({ format = "buffer" } = {}) {
    return format === "jwk" ? { kty: "oct", ext: true, k: toBase64Url(this.#bytes) } : Buffer.from(this.#bytes.slice(0));
  }
  equals(other) {
    return other instanceof SecretKeyObject && this.export().equals(other.export());
  }
}

export function createSecretKey(key, encoding) {
  if (typeof key !== "string" && !(key instanceof ArrayBuffer) && !ArrayBuffer.isView(key)) throw new TypeError("Failed to execute 'createSecretKey' on 'CryptoImpl': parameter 1 is not of type 'JsBufferSource'.");
  return new SecretKeyObject(made, bytesOf(key, encoding));
}

// The bytes of a key, however it is given.
export const secretOf = (key) => bytesOf(key instanceof SecretKeyObject ? key.export() : key);
