// Bodies, requests and responses.
import natives from "thunderhead:natives";
import { AbortController } from "thunderhead:events";
import { read } from "thunderhead:data_url";
import { Blob, File, FormData, bytes } from "thunderhead:form_data";
import { Headers, given, immutable, isFixed, taken } from "thunderhead:headers";
import { keepShapes } from "thunderhead:heap";
import * as multipart from "thunderhead:multipart";
import { begin } from "thunderhead:operation";
import { phraseOf } from "thunderhead:status";
import { withStream, withoutStream } from "thunderhead:streamed";
import { ReadableStream, collect, disturbed, streamOf, whole } from "thunderhead:readable_stream";
import { bufferOf } from "thunderhead:text";
import { URL, URLSearchParams, hostOf, hrefOf } from "thunderhead:url";

export { Blob, File, FormData, Headers };

// All bytes of what may be a body.
export async function bytesOf(value, how) {
  if (typeof value === "string") return natives.encode(value);
  if (value === undefined || value === null) return new ArrayBuffer(0);
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return bufferOf(value);
  if (value instanceof Blob) return value[bytes];
  if (!(value instanceof ReadableStream)) return natives.encode(String(value));
  if (!value[whole]) return collect(value, how);
  value[disturbed] = true;
  return value[whole];
}

const FORM = `multipart/form-data; boundary=${multipart.BOUNDARY}`;

const TEXT = "text/plain;charset=UTF-8";

function contentType(body) {
  if (typeof body === "string") return TEXT;
  if (body instanceof FormData) return FORM;
  if (body instanceof URLSearchParams) return "application/x-www-form-urlencoded;charset=UTF-8";
  if (body instanceof Blob) return body.type || undefined;
  const isBytes = body instanceof ReadableStream || body instanceof ArrayBuffer || ArrayBuffer.isView(body);
  // Anything else is sent as its text.
  return body === undefined || body === null || isBytes ? undefined : TEXT;
}

// What a message says of itself. The properties are its class's and not its own, and cannot be set, as in the runtime.
const said = Symbol("said");
const say = (message, fields) => void Object.defineProperty(message, said, { value: fields });

function readOnly(Class, ...names) {
  for (const name of names) {
    const get = function () {
      return this[said][name];
    };
    Object.defineProperty(Class.prototype, name, { get, enumerable: true, configurable: true });
  }
}

// The same for what few programs read: it is made when it is first asked for.
function readLate(Class, name, make) {
  const get = function () {
    return (this[said][name] ??= make(this[said]));
  };
  Object.defineProperty(Class.prototype, name, { get, enumerable: true, configurable: true });
}

const ofRequest = { url: 0, method: 0, headers: 0, redirect: 0, signal: 0, cf: 0, cache: 0 };
const ofResponse = { status: 0, statusText: 0, headers: 0, url: 0, redirected: 0, type: 0, cf: 0, webSocket: 0 };
for (const example of [ofRequest, ofResponse]) keepShapes(example);

const DISTURBED = "This ReadableStream is disturbed (has already been read from), and cannot be used as a body.";
const USED = "Body has already been used. It can only be used once. Use tee() first if you need to read it twice.";
const raw = Symbol("raw");
const BYTE_ORDER_MARK = 0xfeff;

export class Body {
  #used = false;
  #stream;
  constructor(body) {
    if (body instanceof ReadableStream && body[disturbed]) throw new TypeError(DISTURBED);
    if (body instanceof FormData) body = new Blob([multipart.write(body, (file) => file[bytes])], { type: FORM });
    Object.defineProperty(this, raw, { value: body, writable: true, configurable: true });
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
  async #take(how = { texts: false }) {
    if (this.#stream?.locked && !this.#used) throw new TypeError("This ReadableStream is currently locked to a reader.");
    if (this.bodyUsed) throw new TypeError(USED);
    if (this[raw] !== undefined && this[raw] !== null) this.#used = true;
    return bytesOf(this.#stream ?? this[raw], how);
  }
  async arrayBuffer() {
    return (await this.#take()).slice(0);
  }
  async bytes() {
    return new Uint8Array(await this.arrayBuffer());
  }
  async text() {
    const text = natives.decode(await this.#take(), false);
    return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
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
    if (!type.includes("urlencoded")) throw new TypeError(`Unrecognized Content-Type header value. FormData can only parse the following MIME types: multipart/form-data, application/x-www-form-urlencoded`);
    for (const [name, value] of new URLSearchParams(await this.text())) form.append(name, value);
    return form;
  }
  // All bytes, for a host outside.
  async sent() {
    return this.#take({ texts: true });
  }
  // All bytes of a body that is a text or that is none, for the host. Others are to be waited for.
  ready() {
    const body = this[raw];
    if (body === undefined || body === null) return new ArrayBuffer(0);
    if (this.#used || this.#stream || typeof body !== "string") return undefined;
    this.#used = true;
    return natives.encode(body);
  }
  // Whether somebody reads it in parts. A stream that nobody has asked for is not made for that.
  isRead() {
    return Boolean(this.#stream?.locked);
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
for (const name of ["copied", "isRead", "ready", "sent", "taken", "unfinished"]) Object.defineProperty(Body.prototype, name, { enumerable: false });

const METHODS = "GET HEAD POST PUT DELETE OPTIONS PATCH TRACE COPY LOCK MKCOL MOVE PROPFIND PROPPATCH PURGE UNLOCK ACL REPORT MKACTIVITY CHECKOUT MERGE MSEARCH NOTIFY SUBSCRIBE UNSUBSCRIBE QUERY BAN SEARCH MKCALENDAR".split(" ");

// Methods are told apart by their case, but for those that the web knows best.
function methodOf(given) {
  if (METHODS.includes(given)) return given;
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
    const url = from ? from.url : hrefOf(input);
    if (url === undefined) throw new TypeError(`Invalid URL: ${input}`);
    const method = methodOf(init.method ?? from?.method ?? "GET");
    if (init.redirect !== undefined && !["follow", "manual"].includes(init.redirect)) throw new TypeError(REDIRECT);
    if (init.cache !== undefined && !["no-store", "no-cache"].includes(init.cache)) throw new TypeError(`Unsupported cache mode: ${init.cache}`);
    const wanted = init.headers ?? from?.headers;
    const headers = taken(wanted) ?? new Headers(wanted);
    if ((method === "GET" || method === "HEAD") && init.body !== undefined && init.body !== null) throw new TypeError("Request with a GET or HEAD method cannot have a body.");
    const type = init.body === undefined || init.body === null ? undefined : contentType(this[raw]);
    if (type !== undefined && !headers.has("content-type")) headers.set("content-type", type);
    const redirect = init.redirect ?? from?.redirect ?? "follow";
    say(this, { url, method, headers, redirect, signal: init.signal ?? from?.signal, cf: init.cf ?? from?.cf, cache: init.cache ?? from?.cache });
  }
  clone() {
    const copy = new Request(this, { body: this.copied() });
    if (isFixed(this.headers)) immutable(copy.headers);
    return copy;
  }
}
readOnly(Request, "url", "method", "headers", "redirect");
readLate(Request, "signal", () => new AbortController().signal);
readLate(Request, "cf", ({ isOfClient }) => (isOfClient ? cfOfClient() : {}));
readOnly(Request, "cache");

const REDIRECTS = [301, 302, 303, 307, 308];
const WITHOUT_BODY = [101, 204, 205, 304];
const isEmpty = (body) => !(body instanceof ReadableStream) && (body instanceof Blob ? body.size : (body.byteLength ?? String(body).length)) === 0;

export class Response extends Body {
  constructor(body = null, init = {}) {
    const status = init.status ?? 200;
    if (WITHOUT_BODY.includes(status) && body !== null && isEmpty(body)) body = null;
    super(body);
    if (init.webSocket && status !== 101) throw new RangeError("Responses with a WebSocket must have status code 101.");
    if (!init.webSocket && !(status >= 200 && status <= 599)) throw new RangeError("Responses may only be constructed with status codes in the range 200 to 599, inclusive.");
    if (WITHOUT_BODY.includes(status) && body !== null) throw new TypeError("Response with null body status (101, 204, 205, or 304) cannot have a body.");
    const headers = new Headers(init.headers);
    const type = contentType(body);
    if (type !== undefined && !headers.has("content-type")) headers.set("content-type", type);
    const { statusText = phraseOf(status), cf, webSocket } = init;
    say(this, { status, statusText: String(statusText), headers, url: "", redirected: false, type: "default", cf, webSocket: webSocket ?? null });
  }
  get ok() {
    return this.status >= 200 && this.status <= 299;
  }
  clone() {
    const copy = new Response(this.copied(), this);
    if (isFixed(this.headers)) immutable(copy.headers);
    return copy;
  }
  static json(value, init = {}) {
    const response = new Response(JSON.stringify(value), init);
    if (!new Headers(init.headers).has("content-type")) response.headers.set("content-type", "application/json");
    return response;
  }
  static redirect(url, status = 302) {
    if (!URL.canParse(url)) throw new TypeError(`Unable to parse URL: ${url}`);
    if (!REDIRECTS.includes(status)) throw new RangeError(`${status} is not a redirect status code. It must be one of: 301, 302, 303, 307, or 308.`);
    const response = new Response(null, { status, headers: { location: new URL(url).href } });
    immutable(response.headers);
    return response;
  }
  static error() {
    return amended(new Response(), { type: "error", status: 0, statusText: "" });
  }
}
readOnly(Response, "status", "statusText", "headers", "url", "redirected", "type", "cf", "webSocket");

// A message of which something is otherwise than a program may say.
function amended(message, fields) {
  Object.assign(message[said], fields);
  return message;
}

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
  const response = new Response(received, { status, headers: rest, webSocket: end === undefined ? null : receiver(Number(end)) });
  immutable(response.headers);
  return response;
}

// What the edge says of every client, unless a request says something else. All clients are at an address that is meant
// for documentation.
const CLIENT = "203.0.113.1";

// A request that has come, for the program. One of another Worker (`inside`) comes without what the edge adds. The
// length of a body is told by who reads it and not by who has sent it: it is no part of what was sent.
export function requestOf({ url, method, headers: sent }, bytes, { inside = false } = {}) {
  const { headers: all, body } = withoutStream(sent, method === "GET" || method === "HEAD" ? null : bytes);
  const headers = new Headers(all);
  const add = (name, value) => headers.has(name) || headers.set(name, value);
  const isWithoutHost = !inside && !headers.has("host");
  const isWithoutLength = body !== null && !headers.has("content-length");
  if (!inside) {
    add("cf-connecting-ip", CLIENT);
    add("accept-encoding", "br, gzip");
  }
  if (isWithoutHost) headers.set("host", hostOf(url));
  if (isWithoutLength && body instanceof ReadableStream) add("transfer-encoding", "chunked");
  else if (isWithoutLength) headers.set("content-length", String(body.byteLength));
  const request = new Request(url, { method, headers: given(headers), body, redirect: "manual" });
  immutable(request.headers);
  return amended(request, { isOfClient: !inside });
}

const MAX_REDIRECTS = 20;

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
  let body = stream ? new ArrayBuffer(0) : await request.sent();
  headers = withStream(headers, stream);
  request.signal.throwIfAborted();
  const seen = [];
  for (;;) {
    const { value, bytes } = await orAborted(begin("fetch", { url, method, ...to({ url, headers }) }, body), request.signal);
    const response = amended(responseOf(value, method === "HEAD" ? undefined : bytes), { url, redirected: seen.length > 0 });
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
  const response = new Response(request.method === "HEAD" ? null : bytes, { headers: { "content-type": type } });
  immutable(response.headers);
  return amended(response, { url });
}

// Sends a request to the host in its address. A mistake in what is given is told by the promise.
export function fetch(input, init) {
  try {
    const request = new Request(input, init);
    if (request.url.startsWith("data:")) return Promise.resolve(carried(request));
    if (!/^https?:/.test(request.url)) throw new TypeError(`Fetch API cannot load: ${request.url}`);
    // The address alone says which host is meant.
    return exchange(request, ({ headers }) => ({ headers: [...headers].filter(([name]) => name !== "host") }));
  } catch (error) {
    return Promise.reject(error);
  }
}

// What the platform knows of a client: all of them are where the local runtime says that they are. Every request has its own.
const cfOfClient = () => ({
  ...{ asn: 395747, asOrganization: "Cloudflare", colo: "DFW", city: "Austin", region: "Texas", regionCode: "TX", metroCode: "635", postalCode: "78701" },
  ...{ country: "US", continent: "NA", timezone: "America/Chicago", latitude: "30.27130", longitude: "-97.74260" },
  ...{ clientTcpRtt: 0, clientTrustScore: 99, httpProtocol: "HTTP/1.1", requestPriority: "weight=192;exclusive=0", edgeRequestKeepAliveStatus: 0 },
  ...{ tlsCipher: "AEAD-AES128-GCM-SHA256", tlsVersion: "TLSv1.3" },
});
