// Durable Objects from outside: namespaces, ids and stubs.
import natives from "thunderhead:natives";
import { decode, encode } from "thunderhead:clone";
import { Request, responseOf } from "thunderhead:http";
import { begin } from "thunderhead:operation";

export class DurableObjectId {
  #digits;
  constructor(digits, name) {
    this.#digits = digits;
    if (name !== undefined) this.name = name;
  }
  toString() {
    return this.#digits;
  }
  equals(other) {
    return this.#digits === other.toString();
  }
}

async function call(stub, method, args) {
  return decode((await begin("rpc", { stub, method, args: encode(args, true) })).value);
}

async function fetchFrom(stub, input, init) {
  const request = new Request(input, init);
  const { url, method, headers } = request;
  const [head, body] = await call(stub, "fetch", [{ url, method, headers: [...headers] }, await request.arrayBuffer()]);
  return responseOf(head, body);
}

class DurableObjectStub {}

// Every name that is asked of a stub is a method of the object.
function stubOf(id, stub) {
  const own = Object.assign(Object.create(DurableObjectStub.prototype), { id, name: id.name });
  return new Proxy(own, {
    get: (target, key) => {
      if (key in target || typeof key === "symbol" || key === "then") return target[key];
      if (key === "fetch") return (input, init) => fetchFrom(stub, input, init);
      return (...args) => call(stub, key, args);
    },
  });
}

export class DurableObjectNamespace {
  #name;
  constructor(name) {
    this.#name = name;
  }
  #id(kind, text = "") {
    return new DurableObjectId(natives.objectId(this.#name, kind, text), kind === "name" ? text : undefined);
  }
  idFromName(name) {
    return this.#id("name", String(name));
  }
  idFromString(digits) {
    return this.#id("digits", String(digits));
  }
  newUniqueId() {
    return this.#id("unique");
  }
  get(id) {
    const [kind, text] = id.name === undefined ? ["digits", id.toString()] : ["name", id.name];
    return stubOf(id, natives.stub(this.#name, kind, text));
  }
  getByName(name) {
    return this.get(this.idFromName(name));
  }
  jurisdiction() {
    return this;
  }
}
