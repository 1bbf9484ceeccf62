// Addresses. The host parses them.
import natives from "thunderhead:natives";
import { percentDecoded } from "thunderhead:text";

const PARTS = ["href", "protocol", "host", "hostname", "port", "pathname", "search", "hash", "origin", "username", "password"];
const CHANGEABLE = ["protocol", "host", "hostname", "port", "pathname", "search", "hash", "username", "password"];

const INVALID = "Invalid URL string.";
const resolved = (href, base) => natives.hrefOf(String(href), base === undefined ? undefined : String(base)) ?? undefined;

export class URL {
  #href;
  // The parts that were asked for, which are one or two of most addresses.
  #parts = {};
  #params;
  constructor(href, base) {
    this.#href = resolved(href, base);
    if (this.#href === undefined) throw new TypeError(INVALID);
  }
  get searchParams() {
    return (this.#params ??= new URLSearchParams(this.search, (text) => this.#change("search", text)));
  }
  part(at) {
    if (at === 0) return this.#href;
    return (this.#parts[at] ??= natives.urlPart(this.#href, at));
  }
  change(part, value) {
    this.#change(part, value);
    if (part === "search") this.#params = undefined;
  }
  #change(part, value) {
    this.#href = natives.changeUrl(this.#href, part, String(value)) ?? this.#href;
    this.#parts = {};
  }
  toString() {
    return this.href;
  }
  toJSON() {
    return this.href;
  }
  static canParse(href, base) {
    return resolved(href, base) !== undefined;
  }
  static parse(href, base) {
    return URL.canParse(href, base) ? new URL(href, base) : null;
  }
}

// An address as it is written in full; none for what is no address.
export const hrefOf = (address) => resolved(address);

const HOST = PARTS.indexOf("host");

export function hostOf(address) {
  const host = natives.urlPart(address, HOST) ?? undefined;
  if (host === undefined) throw new TypeError(INVALID);
  return host;
}

const { part, change } = URL.prototype;
delete URL.prototype.part;
delete URL.prototype.change;
PARTS.forEach((name, at) => {
  const get = function () {
    return part.call(this, at);
  };
  const set = CHANGEABLE.includes(name)
    ? function (value) {
        change.call(this, name, value);
      }
    : undefined;
  Object.defineProperty(URL.prototype, name, { get, set, enumerable: true, configurable: true });
});

// Bytes that are no text are replaced.
function decode(text) {
  const spaced = text.replaceAll("+", " ");
  return spaced.includes("%") ? natives.decode(percentDecoded(spaced).buffer, false) : spaced;
}
const encode = (text) =>
  encodeURIComponent(text)
    .replaceAll("%20", "+")
    .replace(/[!'()~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

export class URLSearchParams {
  #pairs = [];
  #changed;
  constructor(init = "", changed = () => {}) {
    this.#changed = changed;
    if (typeof init === "object" && init !== null) {
      const pairs = typeof init[Symbol.iterator] === "function" ? [...init] : Object.entries(init);
      this.#pairs = pairs.map(([name, value]) => [String(name), String(value)]);
      return;
    }
    const text = String(init).replace(/^\?/, "");
    for (const pair of text.split("&").filter(Boolean)) {
      const [name, ...value] = pair.split("=");
      this.#pairs.push([decode(name), decode(value.join("="))]);
    }
  }
  #set(pairs) {
    this.#pairs = pairs;
    this.#changed(this.toString());
  }
  get size() {
    return this.#pairs.length;
  }
  get(name) {
    return this.#pairs.find(([known]) => known === String(name))?.[1] ?? null;
  }
  getAll(name) {
    return this.#pairs.filter(([known]) => known === String(name)).map(([, value]) => value);
  }
  has(name, value) {
    return this.#pairs.some((pair) => pair[0] === String(name) && (value === undefined || pair[1] === String(value)));
  }
  append(name, value) {
    this.#set([...this.#pairs, [String(name), String(value)]]);
  }
  set(name, value) {
    const at = this.#pairs.findIndex(([known]) => known === String(name));
    if (at < 0) return this.append(name, value);
    const others = (pair, index) => index === at || pair[0] !== String(name);
    this.#set(this.#pairs.map((pair, index) => (index === at ? [pair[0], String(value)] : pair)).filter(others));
  }
  delete(name, value) {
    const goes = (pair) => pair[0] === String(name) && (value === undefined || pair[1] === String(value));
    this.#set(this.#pairs.filter((pair) => !goes(pair)));
  }
  sort() {
    this.#set([...this.#pairs].sort(([one], [two]) => (one < two ? -1 : one > two ? 1 : 0)));
  }
  forEach(callback, self) {
    for (const [name, value] of this.#pairs) callback.call(self, value, name, this);
  }
  *entries() {
    yield* this.#pairs.map((pair) => [...pair]);
  }
  *keys() {
    for (const [name] of this.#pairs) yield name;
  }
  *values() {
    for (const [, value] of this.#pairs) yield value;
  }
  [Symbol.iterator]() {
    return this.entries();
  }
  toString() {
    return this.#pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&");
  }
}
