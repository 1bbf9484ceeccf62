// `node:diagnostics_channel`.
const channels = new Map();

export class Channel {
  #listeners = [];
  constructor(name) {
    this.name = name;
  }
  get hasSubscribers() {
    return this.#listeners.length > 0;
  }
  publish(message) {
    for (const listener of this.#listeners) listener(message, this.name);
  }
  subscribe(listener) {
    this.#listeners.push(listener);
  }
  unsubscribe(listener) {
    this.#listeners = this.#listeners.filter((known) => known !== listener);
  }
}

export function channel(name) {
  if (!channels.has(name)) channels.set(name, new Channel(name));
  return channels.get(name);
}
export const hasSubscribers = (name) => channel(name).hasSubscribers;
export const subscribe = (name, listener) => channel(name).subscribe(listener);
export const unsubscribe = (name, listener) => channel(name).unsubscribe(listener);
export const tracingChannel = (name) => Object.fromEntries(["start", "end", "asyncStart", "asyncEnd", "error"].map((part) => [part, channel(`tracing:${name}:${part}`)]));
export default { Channel, channel, hasSubscribers, subscribe, unsubscribe, tracingChannel };
