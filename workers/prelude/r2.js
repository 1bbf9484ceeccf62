// R2 buckets.
import { keepShapes } from "thunderhead:heap";
import natives from "thunderhead:natives";
import { ask, askInJson, showMethods, stringify } from "thunderhead:operation";
import { Blob, Headers, Response, bytesOf } from "thunderhead:http";
import { ReadableStream, length } from "thunderhead:readable_stream";
import { btoa, bufferOf, fromBody, toHex } from "thunderhead:text";
import { LanguageDate } from "thunderhead:time";

const METADATA = {
  contentType: "content-type",
  contentLanguage: "content-language",
  contentDisposition: "content-disposition",
  contentEncoding: "content-encoding",
  cacheControl: "cache-control",
};
const CHECKSUMS = ["md5", "sha1", "sha256", "sha384", "sha512"];

// The class of the program is a proxy, which takes longer.
const dateOf = (time) => new LanguageDate(natives.epoch + time);

// These are made for every answer, so their properties are written out.
function metadataOf(stored) {
  const { contentType, contentLanguage, contentDisposition, contentEncoding, cacheControl, cacheExpiry } = stored;
  const expiry = cacheExpiry === undefined ? undefined : new LanguageDate(cacheExpiry);
  return { contentType, contentLanguage, contentDisposition, contentEncoding, cacheControl, cacheExpiry: expiry };
}

// Sums are hexadecimal digits in JSON, or bytes.
const sumOf = (stored) => (stored ? (typeof stored === "string" ? natives.sum(stored) : fromBody(stored)) : undefined);

class Checksums {
  constructor(stored = {}) {
    this.md5 = sumOf(stored.md5);
    this.sha1 = sumOf(stored.sha1);
    this.sha256 = sumOf(stored.sha256);
    this.sha384 = sumOf(stored.sha384);
    this.sha512 = sumOf(stored.sha512);
  }
  toJSON() {
    return Object.fromEntries(CHECKSUMS.map((name) => [name, this[name] && toHex(this[name])]));
  }
}

class HeadResult {
  constructor(stored, range) {
    this.key = stored.key;
    this.version = stored.version;
    this.size = stored.size;
    this.etag = stored.etag;
    this.httpEtag = `"${stored.etag}"`;
    this.uploaded = dateOf(stored.uploaded);
    this.checksums = new Checksums(stored.checksums);
    this.httpMetadata = metadataOf(stored.httpMetadata ?? {});
    this.customMetadata = stored.customMetadata ?? {};
    this.range = range;
    this.storageClass = stored.storageClass ?? "";
    this.ssecKeyMd5 = undefined;
  }
  writeHttpMetadata(headers) {
    for (const [key, name] of Object.entries(METADATA)) if (this.httpMetadata[key] !== undefined) headers.set(name, this.httpMetadata[key]);
    if (this.httpMetadata.cacheExpiry) headers.set("expires", this.httpMetadata.cacheExpiry.toUTCString());
  }
}

class GetResult extends HeadResult {
  #response;
  constructor(stored, range, bytes) {
    super(stored, range);
    this.#response = new Response(bytes, { headers: { "content-type": this.httpMetadata.contentType ?? "" } });
  }
  get body() {
    return this.#response.body;
  }
  get bodyUsed() {
    return this.#response.bodyUsed;
  }
  arrayBuffer() {
    return this.#response.arrayBuffer();
  }
  bytes() {
    return this.#response.bytes();
  }
  text() {
    return this.#response.text();
  }
  json() {
    return this.#response.json();
  }
  blob() {
    return this.#response.blob();
  }
}

showMethods(HeadResult, "writeHttpMetadata");

// As the host writes an object, and what is made of it.
const written = { key: 0, version: 0, size: 0, etag: 0, uploaded: 0, checksums: {}, httpMetadata: {}, customMetadata: {}, storageClass: 0 };
for (const example of [written, new HeadResult({}), new GetResult({}), new Checksums(), metadataOf({})]) keepShapes(example);

const isoDate = (value) => (value === undefined ? undefined : new LanguageDate(value).toISOString());

function etags(value) {
  if (value === undefined) return undefined;
  return (Array.isArray(value) ? value : [value]).map((etag) => (etag === "*" ? "any" : { strong: String(etag) }));
}

function condition(onlyIf) {
  if (onlyIf === undefined || onlyIf === null) return undefined;
  if (onlyIf instanceof Headers) {
    for (const name of ["if-match", "if-none-match"]) if (!/^(\*|(\s*(W\/)?"[^"]*"\s*,?)+)?$/.test(onlyIf.get(name) ?? "")) throw new Error(`Invalid ETag in ${name} header`);
    return { headers: [...onlyIf] };
  }
  return {
    etagMatches: etags(onlyIf.etagMatches),
    etagDoesNotMatch: etags(onlyIf.etagDoesNotMatch),
    uploadedBefore: isoDate(onlyIf.uploadedBefore),
    uploadedAfter: isoDate(onlyIf.uploadedAfter),
    secondsGranularity: Boolean(onlyIf.secondsGranularity),
  };
}

// A class that does not exist is taken as the usual one.
function storageClass(given) {
  return ["Standard", "InfrequentAccess"].includes(given) ? given : undefined;
}

function httpMetadata(given) {
  if (given === undefined || given === null) return {};
  if (given instanceof Headers) return { headers: [...given] };
  const texts = Object.keys(METADATA).filter((key) => given[key] !== undefined).map((key) => [key, String(given[key])]);
  return { ...Object.fromEntries(texts), cacheExpiry: isoDate(given.cacheExpiry) };
}

const customMetadata = (given) => given === undefined || given === null ? {} : Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]));

function rangeOf(range) {
  if (range === undefined || range === null) return undefined;
  if (range instanceof Headers) return range.get("range") === null ? undefined : { header: range.get("range") };
  return { bytes: { offset: range.offset ?? null, length: range.length ?? null, suffix: range.suffix ?? null } };
}

function checksums(options) {
  const given = CHECKSUMS.filter((name) => options[name] !== undefined);
  const value = (sum) => (typeof sum === "string" ? { hex: sum } : { bytes: { hex: toHex(bufferOf(sum)) } });
  return given.map((algorithm) => ({ algorithm, value: value(options[algorithm]) }));
}

async function payload(value, method) {
  const fits = ["string", "undefined"].includes(typeof value) || value === null || value instanceof ArrayBuffer || ArrayBuffer.isView(value) || value instanceof Blob || value instanceof ReadableStream;
  if (!fits) throw new TypeError(`Failed to execute '${method}' on 'R2Bucket': parameter 2 is not of type 'JsReadableStream or ArrayBuffer or ArrayBufferView or string or Blob'.`);
  if (value instanceof ReadableStream && value[length] === undefined) throw new TypeError("Provided readable stream must have a known length (request/response body or readable half of FixedLengthStream)");
  return bytesOf(value);
}

// What is known of an object without its body: all of it is in range.
const headOf = (object) => new HeadResult(object, { offset: 0, length: object.size, suffix: undefined });

const MAX_KEYS = 1000;

// The cursors of the local runtime are the last key in base64: those that were given out, and their keys.
const cursors = new Map();

function cursorOf(key) {
  const cursor = btoa(String.fromCharCode(...new Uint8Array(natives.encode(key))));
  cursors.set(cursor, key);
  return cursor;
}

const stored = (reply) => (reply.stored ? new HeadResult(reply.stored) : null);

// What most objects are put with.
const PLAIN = ',"body":"","options":{"httpMetadata":{},"customMetadata":{},"checksums":[]}';

export class R2Bucket {
  #bucket;
  #quoted;
  constructor(bucket) {
    this.#bucket = bucket;
    this.#quoted = stringify(bucket);
  }
  // How operations begin that runs are full of, up to their key.
  #json(op, key) {
    return `{"r2":{"op":"${op}","bucket":${this.#quoted},"key":${stringify(String(key))}`;
  }
  #ask(op, fields, bytes) {
    return ask({ r2: { op, bucket: this.#bucket, ...fields } }, bytes);
  }
  async head(key) {
    const reply = (await askInJson(`${this.#json("head", key)}}}`)).value.r2;
    return reply.object ? headOf(reply.object) : null;
  }
  async get(key, options = {}) {
    const asked = { onlyIf: condition(options?.onlyIf), range: rangeOf(options?.range) };
    const { value, bytes: body } = await askInJson(`${this.#json("get", key)},"options":${stringify(asked)}}}`);
    const reply = value.r2;
    if (reply.objectBody) {
      const { object, range } = reply.objectBody;
      return new GetResult(object, { offset: range.offset, length: range.length, suffix: undefined }, body);
    }
    const object = reply.object ?? reply.preconditionFailed;
    return object ? new HeadResult(object) : null;
  }
  async put(key, value, options = null) {
    const bytes = await payload(value, "put");
    if (options === null) return stored((await askInJson(`${this.#json("put", key)}${PLAIN}}}`, bytes)).value.r2);
    const asked = {
      onlyIf: condition(options?.onlyIf),
      httpMetadata: httpMetadata(options?.httpMetadata),
      customMetadata: customMetadata(options?.customMetadata),
      storageClass: storageClass(options?.storageClass),
      checksums: checksums(options ?? {}),
    };
    return stored((await this.#ask("put", { key: String(key), body: "", options: asked }, bytes)).value.r2);
  }
  async delete(keys) {
    // The local runtime takes any number of keys.
    if (natives.local() && Array.isArray(keys) && (keys.length === 0 || keys.length > MAX_KEYS)) {
      for (let at = 0; at < keys.length; at += MAX_KEYS) await this.delete(keys.slice(at, at + MAX_KEYS));
      return;
    }
    await this.#ask("delete", { keys: (Array.isArray(keys) ? keys : [keys]).map(String) });
  }
  async list(options = {}) {
    const { limit, prefix, cursor, delimiter, startAfter, include } = options ?? {};
    const whole = limit === undefined || limit < 0 ? undefined : Math.trunc(limit);
    const from = cursors.has(cursor) ? { startAfter: [cursors.get(cursor), startAfter ?? ""].sort()[1] } : { cursor: cursor || undefined, startAfter };
    const asked = { limit: whole, prefix, ...from, delimiter, include: include ?? [] };
    const { objects, truncated, cursor: given, delimitedPrefixes } = (await this.#ask("list", { options: asked })).value.r2.listing;
    const plain = natives.local() && truncated && delimiter === undefined && startAfter === undefined;
    const next = plain ? cursorOf(objects.at(-1).key) : given;
    return { objects: objects.map((object) => new HeadResult(object)), truncated, cursor: truncated ? next : undefined, delimitedPrefixes };
  }
  async createMultipartUpload(key, options = {}) {
    const asked = { httpMetadata: httpMetadata(options?.httpMetadata), customMetadata: customMetadata(options?.customMetadata), storageClass: storageClass(options?.storageClass) };
    const { multipartUpload } = (await this.#ask("createMultipartUpload", { key: String(key), options: asked })).value.r2;
    return this.resumeMultipartUpload(multipartUpload.key, multipartUpload.uploadId);
  }
  resumeMultipartUpload(key, uploadId) {
    return new R2MultipartUpload((op, fields, bytes) => this.#ask(op, fields, bytes), String(key), String(uploadId));
  }
}

class R2MultipartUpload {
  #ask;
  constructor(asks, key, uploadId) {
    this.#ask = (op, fields, bytes) => asks(op, { key, uploadId, ...fields }, bytes);
    Object.assign(this, { uploadId, key });
  }
  async uploadPart(partNumber, value) {
    const bytes = await payload(value, "uploadPart");
    return (await this.#ask("uploadPart", { partNumber, body: "" }, bytes)).value.r2.uploadedPart;
  }
  async complete(parts) {
    const named = parts.map(({ partNumber, etag }) => ({ partNumber, etag }));
    return stored((await this.#ask("completeMultipartUpload", { parts: named })).value.r2);
  }
  async abort() {
    await this.#ask("abortMultipartUpload", {});
  }
}
showMethods(R2MultipartUpload, "uploadPart", "abort", "complete");
