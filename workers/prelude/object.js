// Durable Objects from outside: namespaces, ids and stubs.
import natives from "thunderhead:natives";
import { decodeResult, encodeCall } from "thunderhead:clone";
import { Request, responseOf } from "thunderhead:http";
import { withStream } from "thunderhead:streamed";
import { begun } from "thunderhead:operation";
import { bindingFor, isRuntimes, pathOf } from "thunderhead:rpc";
import { routeHome } from "thunderhead:service";

// An id with a name has its digits from there when they are asked for, which is seldom.
export class DurableObjectId {
  #digits;
  constructor(digits, name) {
    this.#digits = digits;
    if (name !== undefined) this.name = name;
  }
  toString() {
    if (typeof this.#digits === "function") this.#digits = this.#digits();
    return this.#digits;
  }
  equals(other) {
    return this.toString() === other.toString();
  }
}

// Asks the object for a member. Without arguments the member is read.
async function call(id, stub, path, args) {
  let text = args === undefined ? "" : encodeCall(args);
  if (typeof text !== "string") text = await text;
  // Half a pair of surrogates has no bytes.
  const member = path.isWellFormed() ? path : path.toWellFormed();
  const route = ({ of }) => (names, given) => call(id, stub, pathOf(names, of), given);
  try {
    return decodeResult((await begun((number) => natives.rpc(number, stub, member, text))).value, route);
  } catch (error) {
    // The runtime says which object threw, unless it has thrown itself.
    if (error.remote && path !== "fetch" && !isRuntimes(error)) error.durableObjectId = id.toString();
    throw error;
  }
}

async function fetchFrom(id, stub, input, init) {
  const request = new Request(input, init);
  const { url, method } = request;
  const stream = request.unfinished();
  const sent = stream ? new ArrayBuffer(0) : await request.arrayBuffer();
  const [head, body] = await call(id, stub, "fetch", [{ url, method, headers: withStream(request.headers, stream) }, sent]);
  return responseOf(head, body);
}

function DurableObjectStub() {
  throw new TypeError("Illegal constructor");
}

// Every name that is asked of a stub is a member of the object.
function stubOf(id, stub) {
  const fetch = (input, init) => fetchFrom(id, stub, input, init);
  const own = Object.create(DurableObjectStub.prototype);
  own.id = id;
  own.name = id.name;
  Object.defineProperty(own, "fetch", { value: fetch });
  return bindingFor(own, (names, args) => call(id, stub, pathOf(names), args));
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
  getByName(given) {
    const [namespace, name] = [this.#name, String(given)];
    const stub = natives.stub(namespace, "name", name);
    return stubOf(new DurableObjectId(() => natives.objectId(namespace, "name", name), name), stub);
  }
  jurisdiction() {
    return this;
  }
}

// How what an object keeps for others is called from elsewhere.
routeHome("object", ({ namespace, id: digits }, number) => {
  const id = new DurableObjectId(digits);
  const stub = natives.stub(namespace, "digits", digits);
  return (names, args) => call(id, stub, pathOf(names, number), args);
});
