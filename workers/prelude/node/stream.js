// `node:stream`: the oldest form of a stream, an emitter with `pipe`, is simulated. Many packages inherit from it and need no
// more. Readable, Writable and the others say that they are not simulated when they are made; until then they can be inherited from.
import { moduleOf } from "thunderhead:absent";
import { EventEmitter, errorMonitor } from "node:events";

// A plain function, because older packages inherit from it without `class`, and often without calling it.
export function Stream(options) {
  EventEmitter.call(this, options);
}
Object.setPrototypeOf(Stream.prototype, EventEmitter.prototype);
Object.setPrototypeOf(Stream, EventEmitter);

Stream.prototype.pipe = function (dest, options) {
  let ended = options?.end === false;
  const once = (work) => () => {
    if (!ended) work();
    ended = true;
  };
  const clean = () => {
    for (const [emitter, name, listener] of listeners) emitter.removeListener(name, listener);
  };
  const listeners = [
    [this, "data", (chunk) => dest.writable && dest.write(chunk) === false && this.pause?.()],
    [dest, "drain", () => this.readable && this.resume?.()],
    [this, "end", once(() => dest.end())],
    [this, "close", once(() => dest.destroy?.())],
    [this, "end", clean],
    [this, "close", clean],
    [dest, "close", clean],
    // A monitor does not handle the error: without another listener it is thrown, as in Node.
    [this, errorMonitor, clean],
    [dest, errorMonitor, clean],
  ];
  for (const [emitter, name, listener] of listeners) emitter.on(name, listener);
  dest.emit("pipe", this);
  return dest;
};

const constructors = ["Duplex", "PassThrough", "Readable", "Transform", "Writable"];
const functions = ["addAbortSignal", "compose", "destroy", "duplexPair", "finished", "getDefaultHighWaterMark", "isDestroyed", "isDisturbed", "isErrored"];
const all = moduleOf("node:stream", [...constructors, ...functions, "isReadable", "isWritable", "pipeline", "promises", "setDefaultHighWaterMark"]);
for (const name of constructors) {
  const Class = all[name];
  Object.setPrototypeOf(Class.prototype, Stream.prototype);
  // These are called before anything is made.
  for (const maker of ["from", "fromWeb", "toWeb"]) Class[maker] = moduleOf("node:stream", [`${name}.${maker}`])[`${name}.${maker}`];
}
export const { Duplex, PassThrough, Readable, Transform, Writable, addAbortSignal, compose, destroy, duplexPair, finished, getDefaultHighWaterMark } = all;
export const { isDestroyed, isDisturbed, isErrored, isReadable, isWritable, pipeline, promises, setDefaultHighWaterMark } = all;
Object.assign(Stream, all, { Stream });
// What `require("stream")` is in modules of the older style.
export { Stream as __commonJs };
export default Stream;
