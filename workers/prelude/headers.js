// Headers. Those of a message that has come from elsewhere cannot be changed, and a copy of them can.
let fix;
// Whether nobody can change them.
export let isFixed;
// Names and values.
export let pairsOf;
// Gives headers away to the message that is made of them next, which does not copy them then.
export let given;
// Headers that were given away; none if they were not.
export let taken;

export class Headers {
  #values = new Map();
  #fixed = false;
  #given = false;
  static {
    given = (headers) => {
      headers.#given = true;
      return headers;
    };
    taken = (headers) => {
      if (typeof headers !== "object" || headers === null || !(#given in headers) || !headers.#given) return undefined;
      headers.#given = false;
      return headers;
    };
    fix = (headers) => void (headers.#fixed = true);
    isFixed = (headers) => headers.#fixed;
    pairsOf = (headers) => (isRead(headers) ? headers.#pairs() : [...headers]);
  }
  constructor(init) {
    if (init === undefined || init === null) return;
    if (new.target === Headers && typeof init === "object" && #values in init && isRead(init)) {
      this.#copy(init);
      return;
    }
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
  // Those of another message have been checked already, one by one.
  #copy(from) {
    from.#values.forEach((values, name) => {
      const whole = name === "set-cookie" || values.length === 1 ? values.slice() : [checkedValue(values.join(", "))];
      this.#values.set(name, whole);
    });
  }
  #check() {
    if (this.#fixed) throw new TypeError("Can't modify immutable headers.");
  }
  append(name, value) {
    this.#check();
    const key = checkedName(name);
    const text = checkedValue(value);
    const values = this.#values.get(key);
    if (values) values.push(text);
    else this.#values.set(key, [text]);
  }
  set(name, value) {
    this.#check();
    this.#values.set(checkedName(name), [checkedValue(value)]);
  }
  get(name) {
    return this.#values.get(checkedName(name))?.join(", ") ?? null;
  }
  has(name) {
    return this.#values.has(checkedName(name));
  }
  delete(name) {
    this.#check();
    this.#values.delete(checkedName(name));
  }
  getSetCookie() {
    return [...(this.#values.get("set-cookie") ?? [])];
  }
  getAll(name) {
    if (checkedName(name) !== "set-cookie") throw new TypeError('getAll() can only be used with the header name "Set-Cookie".');
    return this.getSetCookie();
  }
  #pairs() {
    const pairs = [];
    for (const name of [...this.#values.keys()].sort()) {
      const values = this.#values.get(name);
      if (name === "set-cookie") for (const value of values) pairs.push([name, value]);
      else pairs.push([name, values.length === 1 ? values[0] : values.join(", ")]);
    }
    return pairs;
  }
  entries() {
    return this.#pairs().values();
  }
  keys() {
    return this.#pairs().map(([name]) => name).values();
  }
  values() {
    return this.#pairs().map(([, value]) => value).values();
  }
  [Symbol.iterator]() {
    return this.entries();
  }
  forEach(callback, self) {
    for (const [name, value] of this.#pairs()) callback.call(self, value, name, this);
  }
}

// Whether to read headers is to read what they hold: a program may have made a class of its own.
const { entries, [Symbol.iterator]: iterator } = Headers.prototype;
const isRead = (headers) => headers[Symbol.iterator] === iterator && headers.entries === entries;

// Names that were checked, and what they are in lower case. A program uses few of them; what comes after these is
// checked every time.
const NAMES_MAX = 100;
const names = new Map(["host", "cf-connecting-ip", "accept-encoding", "content-length", "content-type"].map((name) => [name, name]));

function checkedName(name) {
  const known = names.get(name);
  if (known !== undefined) return known;
  const text = String(name);
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(text)) throw new TypeError("Invalid header name.");
  const lower = text.toLowerCase();
  if (names.size < NAMES_MAX) names.set(text, lower);
  return lower;
}

const SPACE = 0x20;

function checkedValue(value) {
  let text = typeof value === "string" ? value : String(value);
  if (text.charCodeAt(0) <= SPACE || text.charCodeAt(text.length - 1) <= SPACE) text = text.replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
  if (text.includes("\n") || text.includes("\r") || text.includes("\0")) throw new TypeError("Invalid header value.");
  return text;
}

// The same headers, which nobody can change from now on.
export function immutable(headers) {
  fix(headers);
  return headers;
}
