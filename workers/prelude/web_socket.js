// WebSockets. The host knows each end by its number; an end is read here, or its frames are events of an object.
import natives from "thunderhead:natives";
import { DOMException } from "thunderhead:dom_exception";
import { CloseEvent, EventTarget, MessageEvent } from "thunderhead:events";
import { decode, encode } from "thunderhead:clone";
import { Blob, receiveSocketsWith } from "thunderhead:http";
import { begin } from "thunderhead:operation";
import { bufferOf } from "thunderhead:text";
import { inUse } from "thunderhead:time";

const READY = { CONNECTING: 0, OPEN: 1, CLOSING: 2, CLOSED: 3 };
const LOST = 1006;
const MAX_REASON = 123;
const MAX_ATTACHMENT = 16384;
const MAX_TAGS = 10;
const MAX_TAG = 256;
const MAX_AUTOMATIC = 2048;
const MAX_TIMEOUT = 604800000;

const make = Symbol("make");
const bytesIn = (text) => natives.encode(text).byteLength;

// What an end is used for: nothing yet, "read" here, "handled" as events of an object, or "away" in a response.
let useOf, use, endOf, closedOf;

export class WebSocket extends EventTarget {
  #end;
  #use;
  #closed;
  #binaryType = "arraybuffer";
  onopen = null;
  onmessage = null;
  onclose = null;
  onerror = null;
  static {
    useOf = (socket) => socket.#use;
    use = (socket, how) => void (socket.#use = how);
    endOf = (socket) => socket.#end;
    closedOf = (socket) => socket.#closed;
  }
  constructor(token, end) {
    if (token !== make) throw new Error(`new WebSocket("${token}") was called: connections to hosts outside are not simulated.`);
    super();
    this.#end = end;
  }
  get readyState() {
    const [sent, told] = natives.socketClosed(this.#end);
    return sent && told ? READY.CLOSED : sent || told ? READY.CLOSING : READY.OPEN;
  }
  get binaryType() {
    return this.#binaryType;
  }
  set binaryType(type) {
    if (type === "arraybuffer" || type === "blob") this.#binaryType = type;
  }
  get url() {
    return null;
  }
  get protocol() {
    return "";
  }
  get extensions() {
    return "";
  }
  accept() {
    if (this.#use === "handled") throw new TypeError("Can't accept() WebSocket after enabling hibernation.");
    if (this.#use === "away") throw new TypeError("Can't accept() WebSocket that was already used in a response.");
    if (this.#use === "read") return;
    this.#use = "read";
    readHere(this);
    this.#closed = this.#read();
    // An object stays in memory while it reads.
    const over = inUse();
    this.#closed.then(over, over);
  }
  async #read() {
    for (;;) {
      const { value, bytes } = await begin("socket", this.#end);
      if (value === null) return;
      if (value.close) return this.#heardClose(value.close);
      const data = value.text ?? (this.#binaryType === "blob" ? new Blob([bytes]) : bytes);
      this.#tell(new MessageEvent("message", { data }));
    }
  }
  // This loop answers a close with a close, as the runtime does.
  #heardClose({ code, reason }) {
    const lost = code === LOST;
    if (!lost) natives.socketClose(this.#end, code, reason);
    this.#tell(new CloseEvent("close", { code, reason, wasClean: !lost }));
  }
  // What a listener throws is nobody's to catch.
  #tell(event) {
    try {
      this[`on${event.type}`]?.(event);
      this.dispatchEvent(event);
    } catch (error) {
      Promise.reject(error);
    }
  }
  #needsUse() {
    if (this.#use === "read" || this.#use === "handled") return;
    throw new TypeError("You must call one of accept() or state.acceptWebSocket() on this WebSocket before sending messages.");
  }
  send(message) {
    this.#needsUse();
    if (natives.socketClosed(this.#end)[0]) throw new TypeError("Can't call WebSocket send() after close().");
    natives.socketSend(this.#end, message instanceof ArrayBuffer || ArrayBuffer.isView(message) ? bufferOf(message) : String(message).toWellFormed());
  }
  close(code, reason) {
    this.#needsUse();
    if (code !== undefined && code !== 1000 && !(code >= 3000 && code <= 4999)) throw new DOMException(`Invalid WebSocket close code: ${code}.`, "InvalidAccessError");
    if (reason !== undefined && code === undefined) throw new TypeError("If you specify a WebSocket close reason, you must also specify a code.");
    const words = reason === undefined ? "" : String(reason);
    if (bytesIn(words) > MAX_REASON) throw new DOMException(`WebSocket close reason must not be longer than ${MAX_REASON} bytes when UTF-8 encoded.`, "SyntaxError");
    if (!natives.socketClosed(this.#end)[0]) natives.socketClose(this.#end, code === undefined ? 1005 : Math.trunc(code), words);
  }
  serializeAttachment(value) {
    if (!arguments.length) throw new TypeError("Failed to execute 'serializeAttachment' on 'WebSocket': parameter 1 is not of type 'Value'.");
    const text = encode(value);
    // The runtime's own form of a text is three bytes longer.
    const size = bytesIn(text) + 3;
    if (size > MAX_ATTACHMENT) throw new Error(`A WebSocket 'attachment' cannot be larger than ${MAX_ATTACHMENT} bytes.'attachment' was ${size} bytes.`);
    natives.socketAttach(this.#end, text);
  }
  deserializeAttachment() {
    const text = natives.socketAttachment(this.#end);
    return text === undefined || text === null ? null : decode(text);
  }
}
for (const [name, value] of Object.entries(READY)) {
  for (const target of [WebSocket, WebSocket.prototype]) {
    Object.defineProperty(target, name, { value });
    Object.defineProperty(target, `READY_STATE_${name}`, { value });
  }
}

// The ends that an invocation reads: they are lost with it.
const reading = new Map();
const readHere = (socket) => {
  const invocation = natives.invocation();
  reading.set(invocation, [...(reading.get(invocation) ?? []), socket]);
};
const pairs = new Map();

export function WebSocketPair() {
  const [first, second] = natives.socketPair();
  const ends = [new WebSocket(make, first), new WebSocket(make, second)];
  pairs.set(first, ends);
  return Object.assign(Object.create(WebSocketPair.prototype), { 0: ends[0], 1: ends[1] });
}

const peerOf = (socket) => pairs.get(endOf(socket) & ~1)?.find((end) => end !== socket);

// A handler of a Worker is over when the other end of the WebSocket in its response is, and otherwise at once.
export function keptOpenBy(response) {
  const peer = response?.webSocket && peerOf(response.webSocket);
  return peer && closedOf(peer);
}

export function endInvocation(invocation) {
  for (const socket of reading.get(invocation) ?? []) if (socket.readyState !== READY.CLOSED) natives.socketDrop(endOf(socket));
  reading.delete(invocation);
}

// The number of the end that a response takes away.
export function sendAway(socket) {
  if (!(socket instanceof WebSocket)) throw new TypeError("Incorrect type for the 'webSocket' field on 'ResponseInitializerDict': the provided value is not of type 'WebSocket'.");
  if (useOf(socket) === "read" || useOf(socket) === "handled") throw new TypeError("Can't return WebSocket in a Response after calling accept().");
  if (useOf(socket) === "away") throw new TypeError("Can't return WebSocket that was already used in a response.");
  use(socket, "away");
  natives.socketAway(endOf(socket));
  return endOf(socket);
}

receiveSocketsWith((end) => {
  natives.socketClaim(end);
  return new WebSocket(make, end);
});

export class WebSocketRequestResponsePair {
  #request;
  #response;
  constructor(request, response) {
    this.#request = String(request);
    this.#response = String(response);
  }
  get request() {
    return this.#request;
  }
  get response() {
    return this.#response;
  }
}

// The sockets that objects have accepted, by end, in this life of the isolate.
const accepted = new Map();

// The socket of an end that was accepted, perhaps by an object that has left memory since.
export function socketAt(end) {
  if (!accepted.has(end)) {
    const socket = new WebSocket(make, end);
    use(socket, "handled");
    accepted.set(end, socket);
  }
  return accepted.get(end);
}

function tagsFrom(tags) {
  if (!Array.isArray(tags)) throw new TypeError("Failed to execute 'acceptWebSocket' on 'DurableObjectState': parameter 2 is not of type 'Array'.");
  const unique = [...new Set(tags.map(String))];
  if (unique.length > MAX_TAGS) throw new Error(`a Hibernatable WebSocket cannot have more than ${MAX_TAGS} tags`);
  const long = unique.find((tag) => tag.length > MAX_TAG);
  if (long !== undefined) throw new Error(`"${long}" is longer than the max tag length (${MAX_TAG} characters).`);
  return unique;
}

const notA = (method, type) => new TypeError(`Failed to execute '${method}' on 'DurableObjectState': parameter 1 is not of type '${type}'.`);

// What an object does with WebSockets that outlive its time in memory.
export class Hibernation {
  #object;
  #timeout = null;
  constructor(object) {
    this.#object = object;
  }
  accept(socket, tags) {
    if (!(socket instanceof WebSocket)) throw notA("acceptWebSocket", "WebSocket");
    if (useOf(socket)) throw new Error("Cannot call `acceptWebSocket()` if the WebSocket was already accepted via `accept()`");
    const peer = peerOf(socket);
    if (!peer || useOf(peer)) throw new Error("Cannot call `acceptWebSocket()` on this WebSocket because its pair has already been accepted or used in a Response.");
    natives.socketAccept(this.#object, endOf(socket), tagsFrom(tags));
    use(socket, "handled");
    accepted.set(endOf(socket), socket);
  }
  // All of them, the newest first; those with a tag, the oldest first.
  all(tag) {
    const ends = natives.sockets(this.#object);
    if (tag === undefined) return ends.reverse().map(socketAt);
    return ends.filter((end) => natives.socketTags(end).includes(tag)).map(socketAt);
  }
  tagsOf(socket) {
    if (!(socket instanceof WebSocket)) throw notA("getTags", "WebSocket");
    if (useOf(socket) === "handled") return natives.socketTags(endOf(socket));
    throw new Error(useOf(socket) === "read" ? "only hibernatable websockets can have tags." : "you must call 'acceptWebSocket()' before attempting to access the tags of a WebSocket.");
  }
  answerWith(pair) {
    if (pair === undefined) return natives.setAutoResponse(this.#object, []);
    if (!(pair instanceof WebSocketRequestResponsePair)) throw notA("setWebSocketAutoResponse", "WebSocketRequestResponsePair");
    for (const name of ["request", "response"]) {
      const size = bytesIn(pair[name]);
      if (size > MAX_AUTOMATIC) throw new RangeError(`${name[0].toUpperCase()}${name.slice(1)} cannot be larger than ${MAX_AUTOMATIC} bytes. A ${name} of size ${size} was provided.`);
    }
    natives.setAutoResponse(this.#object, [pair.request, pair.response]);
  }
  get answersWith() {
    const pair = natives.autoResponse(this.#object);
    return pair ? new WebSocketRequestResponsePair(...pair) : null;
  }
  answeredAt(socket) {
    if (!(socket instanceof WebSocket)) throw notA("getWebSocketAutoResponseTimestamp", "WebSocket");
    const at = natives.socketAnswered(endOf(socket));
    return at === undefined || at === null ? null : new Date(at);
  }
  get timeout() {
    return this.#timeout;
  }
  // How long a handler may take changes nothing here: only its processor time is limited.
  set timeout(ms) {
    const wanted = Math.trunc(Number(ms ?? 0));
    if (Number.isNaN(wanted)) throw new TypeError("The value cannot be converted because it is not an integer.");
    if (wanted < 0) throw new TypeError("The value cannot be converted because it is negative and this API expects a positive number.");
    if (wanted > MAX_TIMEOUT) throw new Error(`Event timeout should not exceed ${MAX_TIMEOUT} ms.`);
    this.#timeout = wanted || null;
  }
}
