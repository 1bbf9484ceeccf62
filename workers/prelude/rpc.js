// Calls between isolates. What is asked of a stub is a member, by the path of its names, with arguments if it is
// called. Functions and targets do not cross: the other side is given a stub for the number under which they are kept.
import { DOMException } from "thunderhead:dom_exception";
import natives from "thunderhead:natives";

export class RpcTarget {}

const exported = new Map();
let last = 0;

export function keepForOthers(value) {
  last = natives.number(last);
  exported.set(last, value);
  return last;
}

export const isTarget = (value) => value instanceof RpcTarget;

// A member as it is written in an operation: `#3.name` is a member of what is kept under the number 3.
export const pathOf = (names, number) => (number === undefined ? names.join(".") : [`#${number}`, ...names].join("."));

export const missing = (name) => new TypeError(`The RPC receiver does not implement the method "${name}".`);

const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";

// A member that others may use: of the class, and neither the object's own nor the language's.
function memberOf(receiver, name) {
  if (!isObject(receiver) || Object.hasOwn(receiver, name) || name in Object.prototype || !(name in receiver)) throw missing(name);
  return receiver[name];
}

// Does what another isolate asks of `root`, or of what it was given a stub for. The result may be a promise.
export function serve(root, path, args) {
  const isNear = path.indexOf(".") < 0 && path[0] !== "#";
  return isNear ? used(memberOf(root, path), path, root, args) : serveFar(root, path, args);
}

// The same for a member of a member, and for what is kept for others.
async function serveFar(root, path, args) {
  const names = path.split(".");
  let receiver = root;
  if (names[0][0] === "#") {
    receiver = exported.get(Number(names.shift().slice(1)));
    if (receiver === undefined) throw new Error("The destination object for this RPC no longer exists.");
  }
  if (names[0] === DISPOSE) return disposeOf(Number(path.slice(1).split(".")[0]), receiver);
  if (!names.length) return receiver(...args);
  const last = names.pop();
  for (const name of names) receiver = await memberOf(receiver, name);
  return used(memberOf(receiver, last), last, receiver, args);
}

// A member is called if there are arguments, and read otherwise.
function used(member, name, receiver, args) {
  if (typeof member !== "function") {
    if (args !== undefined) throw missing(name);
    return member;
  }
  // Not by its own `apply`: a member of a stub has every name.
  return args === undefined ? member.bind(receiver) : Reflect.apply(member, receiver, args);
}

// The member by which the last stub for something says that it is gone.
const DISPOSE = "@@dispose";

function disposeOf(number, target) {
  exported.delete(number);
  target[Symbol.dispose]?.();
}

const PROMISE = ["then", "catch", "finally"];
// An element of a list cannot be asked for before the list is there.
const isElement = (key) => /^\d+$/.test(key);

// A promise whose members can be asked for before it is settled. Every call makes one, and this takes less than three
// functions would.
class Promised {
  constructor(promise) {
    this.promise = promise;
  }
  get(target, key) {
    const { promise } = this;
    return PROMISE.includes(key) ? promise[key].bind(promise) : typeof key === "symbol" ? promise[key] : later(promise, [key]);
  }
  apply(target, self, args) {
    return promised(this.promise.then((value) => value(...args)));
  }
  getPrototypeOf() {
    return RpcPromise.prototype;
  }
}

const promised = (promise) => new Proxy(function () {}, new Promised(promise));

export class RpcPromise {}

// A member of what a promise will be.
function later(promise, names) {
  const receiverOf = async () => {
    let receiver = await promise;
    for (const name of names.slice(0, -1)) receiver = await receiver[name];
    if (!isObject(receiver) || !(names.at(-1) in receiver)) throw Object.assign(missing(names.at(-1)), { remote: true });
    return receiver;
  };
  const read = () => receiverOf().then((receiver) => receiver[names.at(-1)]);
  return new Proxy(function () {}, {
    get: (target, key) => {
      if (PROMISE.includes(key)) return (...given) => read()[key](...given);
      return typeof key === "symbol" || isElement(key) ? undefined : later(promise, [...names, key]);
    },
    apply: (target, self, args) => promised(receiverOf().then((receiver) => receiver[names.at(-1)](...args))),
  });
}

// A member of something in another isolate. `send` asks for a path, with arguments for a call.
class Member {
  constructor(send, names) {
    this.send = send;
    this.names = names;
  }
  get(target, key) {
    const { send, names } = this;
    if (PROMISE.includes(key)) return (...given) => send(names, undefined)[key](...given);
    return typeof key === "symbol" ? target[key] : member(send, [...names, key]);
  }
  apply(target, self, args) {
    const { send } = this;
    return promised(send(this.names, args));
  }
}

export const member = (send, names) => new Proxy(function () {}, new Member(send, names));

export class RpcStub {}

// How many stubs there are for the same thing, by stub.
const shares = new WeakMap();

export const isStub = (value) => shares.has(value);

// A stub that is the result of a call by itself is shared with the call, which is never disposed of here.
export const shareWithCall = (stub) => void (shares.get(stub).count += 1);

// A stub for a function or a target that another isolate keeps, and which may want to know when no stub is left.
export function stubFor(send, { function: isFunction, disposable }, share = { count: 0 }) {
  let disposed = false;
  share.count += 1;
  const dispose = () => {
    if (disposed) return;
    disposed = true;
    share.count -= 1;
    if (disposable && !share.count) send([DISPOSE], []).catch(() => {});
  };
  const checked = async (names, args) => {
    if (disposed) throw new Error("RPC stub used after being disposed.");
    return send(names, args);
  };
  const stub = new Proxy(isFunction ? function () {} : Object.create(RpcStub.prototype), {
    get: (target, key) => {
      if (key === "dup") return () => stubFor(send, { function: isFunction, disposable }, share);
      if (key === Symbol.dispose) return dispose;
      return typeof key === "symbol" || key === "then" ? target[key] : member(checked, [key]);
    },
    has: () => true,
    apply: (target, self, args) => promised(checked([], args)),
    getPrototypeOf: () => RpcStub.prototype,
  });
  shares.set(stub, share);
  return stub;
}

// A binding whose every other name is a member of what it is bound to.
class Binding {
  constructor(send) {
    this.send = send;
  }
  get(target, key) {
    return key in target || typeof key === "symbol" || key === "then" ? target[key] : member(this.send, [key]);
  }
  has(target, key) {
    return key in target || (typeof key !== "symbol" && key !== "then");
  }
}

export const bindingFor = (own, send) => new Proxy(own, new Binding(send));

// Whether an error is one that the runtime itself throws in the callee.
export const isRuntimes = (error) => error instanceof DOMException || /^(The RPC receiver does not|'\w+' is a reserved method|Serialized RPC)/.test(error.message);
