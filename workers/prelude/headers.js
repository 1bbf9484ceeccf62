// Headers. Those of a message that has come from elsewhere cannot be changed, and a copy of them can.
let fix;
// Whether nobody can change them.
export let isFixed;

export class Headers {
  #values = new Map();
  #fixed = false;
  static {
    fix = (headers) => void (headers.#fixed = true);
    isFixed = (headers) => headers.#fixed;
  }
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
  #check() {
    if (this.#fixed) throw new TypeError("Can't modify immutable headers.");
  }
  append(name, value) {
    this.#check();
    const key = checkedName(name);
    this.#values.set(key, [...(this.#values.get(key) ?? []), checkedValue(value)]);
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

// The same headers, which nobody can change from now on.
export function immutable(headers) {
  fix(headers);
  return headers;
}
