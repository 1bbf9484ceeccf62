// Headers, bodies, requests and responses.
import natives from "thunderhead:natives";
import { AbortController } from "thunderhead:events";
import { read } from "thunderhead:data_url";
import * as multipart from "thunderhead:multipart";
import { begin } from "thunderhead:operation";
import { withStream, withoutStream } from "thunderhead:streamed";
import { ReadableStream, collect, disturbed, streamOf, whole } from "thunderhead:readable_stream";
import { bufferOf, concat } from "thunderhead:text";
import { URL, URLSearchParams } from "thunderhead:url";

export class Headers {
  #values = new Map();
  constructor(init) {
    if (init === undefined || init === null) return;
    if (typeof init[Symbol.iterator] !== "function") {
      for (const [name, value] of Object.entries(init)) this.append(name, value);
      return;
    }
    for (const pair of init) {
      const elements = typeof pair === "string" ? [] : [...pair];
      if (elements.length !== 2) throw new TypeError("To initialize a Headers object from a sequence, each inner sequence must have exactly two elements.");
      this.append(elements[0], elements[1]);
    }
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
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text)) throw new TypeError("Invalid header name.");
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
  if (!(value instanceof ReadableStream)) return natives.encode(String(value));
  if (!value[whole]) return collect(value);
  value[disturbed] = true;
  return value[whole];
}

const FORM = `multipart/form-data; boundary=${multipart.BOUNDARY}`;

function contentType(body) {
  if (body instanceof FormData) return FORM;
  if (typeof body === "string") return "text/plain;charset=UTF-8";
  if (body instanceof URLSearchParams) return "application/x-www-form-urlencoded;charset=UTF-8";
  if (body instanceof Blob && body.type) return body.type;
  return undefined;
}

const DISTURBED = "This ReadableStream is disturbed (has already been read from), and cannot be used as a body.";
const USED = "Body has already been used. It can only be used once. Use tee() first if you need to read it twice.";
const raw = Symbol("raw");

export class Body {
  #used = false;
  #stream;
  constructor(body) {
    if (body instanceof ReadableStream && body[disturbed]) throw new TypeError(DISTURBED);
    if (body instanceof FormData) body = new Blob([multipart.write(body, (file) => file[bytes])], { type: FORM });
    this[raw] = body;
    Object.defineProperty(this, raw, { enumerable: false });
  }
  get bodyUsed() {
    const stream = this[raw] instanceof ReadableStream ? this[raw] : undefined;
    return this.#used || Boolean(stream?.locked || (stream ?? this.#stream)?.[disturbed]);
  }
  get body() {
    const body = this[raw];
    if (body === undefined || body === null) return null;
    if (body instanceof ReadableStream) return body;
    return (this.#stream ??= this.#opened(body));
  }
  #opened(body) {
    const buffer = body instanceof ArrayBuffer || ArrayBuffer.isView(body) ? bufferOf(body) : body instanceof Blob ? body[bytes] : natives.encode(String(body));
    return Object.assign(streamOf(buffer), this.#used ? { [disturbed]: true } : {});
  }
  async #take() {
    if (this.#stream?.locked && !this.#used) throw new TypeError("This ReadableStream is currently locked to a reader.");
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
    const form = new FormData();
    if (type.startsWith("multipart/form-data")) {
      for (const { name, filename, type: of = "", bytes: data } of multipart.read(await this.#take(), type)) form.append(name, filename === undefined ? natives.decode(data, false) : new File([data], filename, { type: of }));
      return form;
    }
    if (!type.includes("urlencoded")) throw new TypeError(`Unrecognized Content-Type header value. FormData can only parse the following MIME types: multipart/form-data, application/x-www-form-urlencoded.`);
    for (const [name, value] of new URLSearchParams(await this.text())) form.append(name, value);
    return form;
  }
  // The body for another request, which this one does not have any more.
  taken() {
    if (this[raw] !== undefined && this[raw] !== null) this.#used = true;
    return this.#stream ?? this[raw];
  }
  // The body, if its bytes are not there yet.
  unfinished() {
    if (this.bodyUsed || !(this[raw] instanceof ReadableStream) || this[raw][whole]) return undefined;
    this.#used = true;
    return this[raw];
  }
  // The body for a copy: a stream goes two ways, anything else can be read twice.
  copied() {
    if (this.bodyUsed || this.#stream?.locked) throw new TypeError("This ReadableStream is currently locked to a reader,");
    if (!(this[raw] instanceof ReadableStream)) return this[raw];
    if (this[raw][whole]) return streamOf(this[raw][whole]);
    const [mine, copy] = this[raw].tee();
    this[raw] = mine;
    return copy;
  }
}
for (const name of ["copied", "taken", "unfinished"]) Object.defineProperty(Body.prototype, name, { enumerable: false });

const METHODS = "GET HEAD POST PUT DELETE OPTIONS PATCH TRACE COPY LOCK MKCOL MOVE PROPFIND PROPPATCH PURGE UNLOCK ACL REPORT MKACTIVITY CHECKOUT MERGE MSEARCH NOTIFY SUBSCRIBE UNSUBSCRIBE QUERY BAN SEARCH MKCALENDAR".split(" ");

// Methods are told apart by their case, but for those that the web knows best.
function methodOf(given) {
  const upper = String(given).toUpperCase();
  const method = METHODS.slice(0, 7).includes(upper) ? upper : String(given);
  if (!METHODS.includes(method)) throw new TypeError(`Invalid HTTP method string: ${given}`);
  return method;
}

const REDIRECT = 'Invalid redirect value, must be one of "follow" or "manual" ("error" won\'t be implemented since it does not make sense at the edge; use "manual" and check the response status code).';

export class Request extends Body {
  constructor(input, init) {
    init ??= {};
    const from = input instanceof Request ? input : undefined;
    if (from?.bodyUsed && !init.body) throw new TypeError("Cannot reconstruct a Request with a used body.");
    super(init.body ?? from?.taken() ?? null);
    if (!from && !URL.canParse(input)) throw new TypeError(`Invalid URL: ${input}`);
    this.url = from ? from.url : new URL(input).href;
    this.method = methodOf(init.method ?? from?.method ?? "GET");
    if (!["follow", "manual", undefined].includes(init.redirect)) throw new TypeError(REDIRECT);
    if (init.cache !== undefined && !["no-store", "no-cache"].includes(init.cache)) throw new TypeError(`Unsupported cache mode: ${init.cache}`);
    this.headers = new Headers(init.headers ?? from?.headers);
    if ((this.method === "GET" || this.method === "HEAD") && init.body !== undefined && init.body !== null) throw new TypeError("Request with a GET or HEAD method cannot have a body.");
    const type = init.body === undefined || init.body === null ? undefined : contentType(this[raw]);
    if (type !== undefined && !this.headers.has("content-type")) this.headers.set("content-type", type);
    this.redirect = init.redirect ?? from?.redirect ?? "follow";
    this.signal = init.signal ?? from?.signal ?? new AbortController().signal;
    this.cf = init.cf ?? from?.cf ?? {};
  }
  clone() {
    return new Request(this, { body: this.copied() });
  }
}

export class Response extends Body {
  constructor(body = null, init = {}) {
    super(body);
    const status = init.status ?? 200;
    if (init.webSocket && status !== 101) throw new RangeError("Responses with a WebSocket must have status code 101.");
    if (!init.webSocket && !(status >= 200 && status <= 599)) throw new RangeError("Responses may only be constructed with status codes in the range 200 to 599, inclusive.");
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

// The header by which an end of a WebSocket crosses to another isolate. It never reaches the program.
export const WEB_SOCKET = "thunderhead-web-socket";

// How an end that has come is made a WebSocket; `web_socket` knows.
let receiver = () => null;
export const receiveSocketsWith = (receive) => void (receiver = receive);

// A response from its head and its bytes.
export function responseOf({ status, headers }, body) {
  const { headers: visible, body: received } = withoutStream(headers, body);
  const end = visible.find(([name]) => name === WEB_SOCKET)?.[1];
  const rest = visible.filter(([name]) => name !== WEB_SOCKET);
  return new Response(received, { status, headers: rest, webSocket: end === undefined ? null : receiver(Number(end)) });
}

const MAX_REDIRECTS = 20;
const REDIRECTS = [301, 302, 303, 307, 308];

// Rejects when the signal aborts before the promise is settled.
function orAborted(promise, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

const SENT = "A request with a one-time-use body (it was initialized from a stream, not a buffer) encountered a redirect requiring the body to be retransmitted. To avoid this error in the future, construct this request from a buffer-like body initializer.";

// Sends a request and follows where it leads. `to` says where it goes and with which headers. Only another Worker is
// sent a stream in parts.
export async function exchange(request, to, { streams = false } = {}) {
  request.signal.throwIfAborted();
  let { url, method, headers } = request;
  const stream = streams ? request.unfinished() : undefined;
  let body = stream ? new ArrayBuffer(0) : await request.arrayBuffer();
  headers = withStream(headers, stream);
  request.signal.throwIfAborted();
  const seen = [];
  for (;;) {
    const { value, bytes } = await orAborted(begin("fetch", { url, method, ...to({ url, headers }) }, body), request.signal);
    const response = Object.assign(responseOf(value, bytes), { url, redirected: seen.length > 0 });
    const location = response.headers.get("location");
    if (request.redirect !== "follow" || location === null || !REDIRECTS.includes(response.status)) return response;
    await response.body?.cancel();
    seen.push(url);
    url = new URL(location, url).href;
    if (seen.length > MAX_REDIRECTS) throw new TypeError(`Too many redirects.${seen.join(", ")}`);
    if (response.status === 303 || (response.status < 303 && method === "POST")) [method, body, headers] = ["GET", new ArrayBuffer(0), [...request.headers]];
    else if (stream) throw new TypeError(SENT);
  }
}

// The answer of an address that carries its data. Nothing leaves the Worker for it.
function carried(request) {
  request.signal.throwIfAborted();
  const { url } = request;
  const { type, bytes } = read(url);
  return Object.assign(new Response(request.method === "HEAD" ? null : bytes, { headers: { "content-type": type } }), { url });
}

// Sends a request to the host in its address. A mistake in what is given is told by the promise.
export function fetch(input, init) {
  try {
    const request = new Request(input, init);
    if (request.url.startsWith("data:")) return Promise.resolve(carried(request));
    return exchange(request, ({ headers }) => ({ headers: [...headers] }));
  } catch (error) {
    return Promise.reject(error);
  }
}

// What the platform knows of a client: all of them are where the local runtime says that they are. Every request has its own.
export const cfOfClient = () => ({
  ...{ asn: 395747, asOrganization: "Cloudflare", colo: "DFW", city: "Austin", region: "Texas", regionCode: "TX", metroCode: "635", postalCode: "78701" },
  ...{ country: "US", continent: "NA", timezone: "America/Chicago", latitude: "30.27130", longitude: "-97.74260" },
  ...{ clientTcpRtt: 0, clientTrustScore: 99, httpProtocol: "HTTP/1.1", requestPriority: "weight=192;exclusive=0", edgeRequestKeepAliveStatus: 0 },
  ...{ tlsCipher: "AEAD-AES128-GCM-SHA256", tlsVersion: "TLSv1.3" },
});
