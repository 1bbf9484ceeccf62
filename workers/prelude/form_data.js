// Blobs, files and forms.
import natives from "thunderhead:natives";
import { streamOf } from "thunderhead:readable_stream";
import { bufferOf, concat } from "thunderhead:text";

// All bytes of a blob, which are there from the beginning.
export const bytes = Symbol("bytes");

export class Blob {
  #type;
  constructor(parts = [], { type = "" } = {}) {
    const buffers = [...parts].map((part) => (part instanceof Blob ? part[bytes] : typeof part === "string" ? natives.encode(part) : bufferOf(part)));
    Object.defineProperty(this, bytes, { value: concat(buffers) });
    this.#type = String(type).toLowerCase();
  }
  get type() {
    return this.#type;
  }
  get size() {
    return this[bytes].byteLength;
  }
  async arrayBuffer() {
    return this[bytes].slice(0);
  }
  async bytes() {
    return new Uint8Array(this[bytes].slice(0));
  }
  async text() {
    return natives.decode(this[bytes], false);
  }
  slice(start, end, type = "") {
    return new Blob([this[bytes].slice(start, end)], { type });
  }
  stream() {
    return streamOf(this[bytes]);
  }
}

export class File extends Blob {
  #name;
  #lastModified;
  constructor(parts, name, options = {}) {
    super(parts, options);
    [this.#name, this.#lastModified] = [String(name), options.lastModified ?? natives.now()];
  }
  get name() {
    return this.#name;
  }
  get lastModified() {
    return this.#lastModified;
  }
}

export class FormData {
  #fields = [];
  append(name, value, filename) {
    this.#fields.push([String(name), field(value, filename)]);
  }
  set(name, value, filename) {
    const at = this.#fields.findIndex(([known]) => known === name);
    if (at < 0) return this.append(name, value, filename);
    this.#fields[at][1] = field(value, filename);
    this.#fields = this.#fields.filter(([known], index) => index === at || known !== name);
  }
  get(name) {
    return this.#fields.find(([known]) => known === name)?.[1] ?? null;
  }
  getAll(name) {
    return this.#fields.filter(([known]) => known === name).map(([, value]) => value);
  }
  has(name) {
    return this.#fields.some(([known]) => known === name);
  }
  delete(name) {
    this.#fields = this.#fields.filter(([known]) => known !== name);
  }
  *entries() {
    yield* this.#fields;
  }
  *keys() {
    for (const [name] of this.#fields) yield name;
  }
  *values() {
    for (const [, value] of this.#fields) yield value;
  }
  [Symbol.iterator]() {
    return this.entries();
  }
  forEach(callback, self) {
    for (const [name, value] of this.#fields) callback.call(self, value, name, this);
  }
}

function field(value, filename) {
  if (!(value instanceof Blob)) return String(value);
  if (value instanceof File && filename === undefined) return value;
  return new File([value], filename ?? "blob", { type: value.type });
}
