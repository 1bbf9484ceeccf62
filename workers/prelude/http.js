// Headers, bodies, requests and responses.
import natives from "thunderhead:natives";
import { AbortController } from "thunderhead:events";
import { begin } from "thunderhead:operation";
import { ReadableStream, collect, streamOf, whole } from "thunderhead:streams";
import { bufferOf, concat } from "thunderhead:text";
import { URL, URLSearchParams } from "thunderhead:url";

export class Headers {
  #values = new Map();
  constructor(init) {
    if (init === undefined || init === null) return;
    const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
    for (const [name, value] of pairs) this.append(name, value);
  }
  append(name, value) {
    const key = checkedName(name);
    this.#values.set(key, [...(this.#values.get(key) ?? []), checkedValue(value)]);
  }
  set(name, value) {
    this.#values.set(checkedName(name), [checkedValue(value)]);
  }
  get(name) {
    return this.#values.get(checkedName(name))?.join(", ") ?? null;
  }
  has(name) {
    return this.#values.has(checkedName(name));
  }
  delete(name) {
    this.#values.delete(checkedName(name));
  }
  getSetCookie() {
    return [...(this.#values.get("set-cookie") ?? [])];
  }
  getAll(name) {
    if (checkedName(name) !== "set-cookie") throw new TypeError('getAll() can only be used with the header name "Set-Cookie".');
    return this.getSetCookie();
  }
  *entries() {
    for (const name of [...this.#values.keys()].sort()) {
      if (name === "set-cookie") for (const value of this.#values.get(name)) yield [name, value];
      else yield [name, this.get(name)];
    }
  }
  *keys() {
    for (const [name] of this.entries()) yield name;
  }
  *values() {
    for (const [, value] of this.entries()) yield value;
  }
  [Symbol.iterator]() {
    return this.entries();
  }
  forEach(callback, self) {
    for (const [name, value] of this.entries()) callback.call(self, value, name, this);
  }
}

function checkedName(name) {
  const text = String(name);
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text)) throw new TypeError(`Invalid header name: ${text}`);
  return text.toLowerCase();
}

function checkedValue(value) {
  const text = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
  if (/[\0\n\r]/.test(text)) throw new TypeError("Invalid header value.");
  return text;
}

const bytes = Symbol("bytes");

export class Blob {
  constructor(parts = [], { type = "" } = {}) {
    const buffers = [...parts].map((part) => (part instanceof Blob ? part[bytes] : typeof part === "string" ? natives.encode(part) : bufferOf(part)));
    Object.defineProperty(this, bytes, { value: concat(buffers) });
    Object.defineProperty(this, "type", { value: String(type).toLowerCase(), enumerable: true });
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
  constructor(parts, name, options = {}) {
    super(parts, options);
    this.name = String(name);
    this.lastModified = options.lastModified ?? natives.now();
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

// All bytes of what may be a body.
export async function bytesOf(value) {
  if (value === undefined || value === null) return new ArrayBuffer(0);
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return bufferOf(value);
  if (value instanceof Blob) return value[bytes];
  if (value instanceof ReadableStream) return value[whole] ?? collect(value);
  return natives.encode(String(value));
}

function contentType(body) {
  if (typeof body === "string") return "text/plain;charset=UTF-8";
  if (body instanceof URLSearchParams) return "application/x-www-form-urlencoded;charset=UTF-8";
  if (body instanceof Blob && body.type) return body.type;
  return undefined;
}

const USED = "Body has already been used. It can only be used once. Use tee() first if you need to read it twice.";
const raw = Symbol("raw");

export class Body {
  #used = false;
  #stream;
  constructor(body) {
    if (body instanceof FormData) {
      const text = [...body].map(([name, value]) => {
        if (value instanceof Blob) throw new TypeError("A FormData with files as a body is not simulated.");
        return [name, value];
      });
      body = new URLSearchParams(text);
    }
    this[raw] = body;
    Object.defineProperty(this, raw, { enumerable: false });
  }
  get bodyUsed() {
    return this.#used || Boolean(this[raw] instanceof ReadableStream && this[raw].locked);
  }
  get body() {
    const body = this[raw];
    if (body === undefined || body === null) return null;
    if (body instanceof ReadableStream) return body;
    if (body instanceof Blob) return (this.#stream ??= body.stream());
    const buffer = body instanceof ArrayBuffer || ArrayBuffer.isView(body) ? bufferOf(body) : natives.encode(String(body));
    return (this.#stream ??= streamOf(buffer));
  }
  async #take() {
    if (this.bodyUsed) throw new TypeError(USED);
    if (this[raw] !== undefined && this[raw] !== null) this.#used = true;
    return bytesOf(this.#stream ?? this[raw]);
  }
  async arrayBuffer() {
    return (await this.#take()).slice(0);
  }
  async bytes() {
    return new Uint8Array(await this.arrayBuffer());
  }
  async text() {
    return natives.decode(await this.#take(), false);
  }
  async json() {
    return JSON.parse(await this.text());
  }
  async blob() {
    return new Blob([await this.#take()], { type: this.headers.get("content-type") ?? "" });
  }
  async formData() {
    const type = this.headers.get("content-type") ?? "";
    if (!type.includes("urlencoded")) throw new TypeError(`A form with the content type "${type}" is not simulated.`);
    const form = new FormData();
    for (const [name, value] of new URLSearchParams(await this.text())) form.append(name, value);
    return form;
  }
  // The body for a copy: a stream goes two ways, anything else can be read twice.
  copied() {
    if (this.bodyUsed) throw new TypeError(USED);
    if (!(this[raw] instanceof ReadableStream) || this[raw][whole]) return this[raw];
    const [mine, copy] = this[raw].tee();
    this[raw] = mine;
    return copy;
  }
}
Object.defineProperty(Body.prototype, "copied", { enumerable: false });

export class Request extends Body {
  constructor(input, init = {}) {
    const from = input instanceof Request ? input : undefined;
    super(init.body ?? from?.copied() ?? null);
    this.url = from ? from.url : new URL(input).href;
    this.method = String(init.method ?? from?.method ?? "GET").toUpperCase();
    this.headers = new Headers(init.headers ?? from?.headers);
    if ((this.method === "GET" || this.method === "HEAD") && init.body !== undefined && init.body !== null) throw new TypeError("Request with a GET or HEAD method cannot have a body.");
    const type = contentType(this[raw]);
    if (type !== undefined && !this.headers.has("content-type")) this.headers.set("content-type", type);
    this.redirect = init.redirect ?? from?.redirect ?? "follow";
    this.signal = init.signal ?? from?.signal ?? new AbortController().signal;
    this.cf = init.cf ?? from?.cf ?? {};
  }
  clone() {
    return new Request(this);
  }
}

export class Response extends Body {
  constructor(body = null, init = {}) {
    super(body);
    const status = init.status ?? 200;
    if (status !== 101 && !(status >= 200 && status <= 599)) throw new RangeError("Responses may only be constructed with status codes in the range 200 to 599, inclusive.");
    if ([101, 204, 205, 304].includes(status) && body !== null) throw new TypeError("Response with null body status (101, 204, 205, or 304) cannot have a body.");
    Object.assign(this, { status, statusText: init.statusText ?? "", headers: new Headers(init.headers) });
    const type = contentType(body);
    if (type !== undefined && !this.headers.has("content-type")) this.headers.set("content-type", type);
    Object.assign(this, { url: "", redirected: false, type: "default", cf: init.cf, webSocket: init.webSocket ?? null });
  }
  get ok() {
    return this.status >= 200 && this.status <= 299;
  }
  clone() {
    return new Response(this.copied(), this);
  }
  static json(value, init = {}) {
    const response = new Response(JSON.stringify(value), init);
    if (!new Headers(init.headers).has("content-type")) response.headers.set("content-type", "application/json");
    return response;
  }
  static redirect(url, status = 302) {
    return new Response(null, { status, headers: { location: new URL(url).href } });
  }
  static error() {
    return Object.assign(new Response(), { type: "error", status: 0 });
  }
}

// The head of a message, for the host.
export const headOf = ({ headers, ...rest }) => ({ ...rest, headers: [...headers] });

// A response from its head and its bytes.
export function responseOf({ status, headers }, body) {
  return new Response(body?.byteLength ? body : null, { status, headers });
}

// Sends a request to a Worker, or to the host in its address.
export async function send(service, input, init) {
  const request = new Request(input, init);
  request.signal.throwIfAborted();
  const { url, method, headers } = request;
  const { value, bytes } = await begin("fetch", { service, url, method, headers: [...headers] }, await request.arrayBuffer());
  return responseOf(value, bytes);
}

export const fetch = (input, init) => send(undefined, input, init);
