// WebSockets whose both ends are in one isolate.
import { DOMException } from "thunderhead:dom_exception";
import { CloseEvent, EventTarget, MessageEvent } from "thunderhead:events";
import { structuredClone } from "thunderhead:clone";
import { bufferOf } from "thunderhead:text";

const READY = { CONNECTING: 0, OPEN: 1, CLOSING: 2, CLOSED: 3 };
const link = Symbol("link");
const deliver = Symbol("deliver");

export class WebSocket extends EventTarget {
  #peer;
  #listens = false;
  #waiting = [];
  #attachment = null;
  readyState = READY.OPEN;
  constructor(url) {
    super();
    if (url !== undefined) throw new Error(`new WebSocket("${url}") was called: connections to hosts outside are not simulated.`);
  }
  [link](peer) {
    this.#peer = peer;
  }
  // Events wait until somebody listens.
  [deliver](event) {
    if (!this.#listens) return void this.#waiting.push(event);
    if (event.type === "close") this.readyState = READY.CLOSED;
    this[`on${event.type}`]?.(event);
    this.dispatchEvent(event);
  }
  accept() {
    if (this.#listens) return;
    this.#listens = true;
    for (const event of this.#waiting.splice(0)) Promise.resolve().then(() => this[deliver](event));
  }
  send(message) {
    if (this.readyState !== READY.OPEN) throw new TypeError("Can't call WebSocket send() after close().");
    const data = typeof message === "string" ? message : bufferOf(message).slice(0);
    Promise.resolve().then(() => this.#peer?.[deliver](new MessageEvent("message", { data })));
  }
  close(code = 1005, reason = "") {
    if (code !== 1005 && code !== 1000 && !(code >= 3000 && code <= 4999)) throw new DOMException("Invalid WebSocket close code.", "InvalidAccessError");
    if (this.readyState !== READY.OPEN) return;
    this.readyState = READY.CLOSING;
    Promise.resolve().then(() => this.#peer?.[deliver](new CloseEvent("close", { code, reason, wasClean: true })));
  }
  serializeAttachment(value) {
    this.#attachment = structuredClone(value);
  }
  deserializeAttachment() {
    return structuredClone(this.#attachment);
  }
}
for (const [name, value] of Object.entries(READY)) {
  for (const target of [WebSocket, WebSocket.prototype]) Object.defineProperty(target, name, { value });
  Object.defineProperty(WebSocket, `READY_STATE_${name}`, { value });
}

export function WebSocketPair() {
  const ends = [new WebSocket(), new WebSocket()];
  ends[0][link](ends[1]);
  ends[1][link](ends[0]);
  return Object.assign(Object.create(WebSocketPair.prototype), { 0: ends[0], 1: ends[1] });
}

export class WebSocketRequestResponsePair {
  constructor(request, response) {
    Object.assign(this, { request: String(request), response: String(response) });
  }
}

// What an object has accepted: its sockets and their tags. Messages are its events.
export class Sockets {
  #tags = new Map();
  #automatic = null;
  accept(socket, tags, object) {
    this.#tags.set(socket, tags.map(String));
    const called = (name, ...args) => typeof object()?.[name] === "function" && object()[name](socket, ...args);
    socket.addEventListener("message", ({ data }) => {
      if (this.#automatic && data === this.#automatic.request) socket.send(this.#automatic.response);
      else called("webSocketMessage", data);
    });
    socket.addEventListener("close", ({ code, reason, wasClean }) => {
      this.#tags.delete(socket);
      called("webSocketClose", code, reason, wasClean);
    });
    socket.accept();
  }
  all(tag) {
    return [...this.#tags].filter(([, tags]) => tag === undefined || tags.includes(tag)).map(([socket]) => socket);
  }
  tagsOf(socket) {
    return [...(this.#tags.get(socket) ?? [])];
  }
  get automatic() {
    return this.#automatic;
  }
  set automatic(pair) {
    this.#automatic = pair ?? null;
  }
}
