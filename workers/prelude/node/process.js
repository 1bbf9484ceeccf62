// `node:process`. `env` has the variables of the Worker, as text.
import natives from "thunderhead:natives";
import { env as bindings } from "thunderhead:bindings";

export const env = new Proxy(
  {},
  {
    get: (own, name) => own[name] ?? (typeof bindings[name] === "string" ? bindings[name] : undefined),
    has: (own, name) => name in own || typeof bindings[name] === "string",
    ownKeys: (own) => [...new Set([...Reflect.ownKeys(own), ...Object.keys(bindings).filter((name) => typeof bindings[name] === "string")])],
    getOwnPropertyDescriptor: (own, name) => ({ value: own[name] ?? bindings[name], writable: true, enumerable: true, configurable: true }),
  },
);
export const nextTick = (work, ...args) => void Promise.resolve().then(() => work(...args));
export const hrtime = Object.assign(() => [Math.floor(natives.now() / 1000), (natives.now() % 1000) * 1e6], { bigint: () => BigInt(natives.now()) * 1000000n });
export const cwd = () => "/";
export const uptime = () => 0;
export const memoryUsage = () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 });
export const emitWarning = () => {};
export const platform = "linux";
export const arch = "x64";
export const version = "v22.19.0";
export const versions = { node: "22.19.0" };
export const argv = [];
export const pid = 1;
export const exit = () => {
  throw new Error("process.exit() is not simulated: a Worker ends when its handler returns.");
};
const same = () => process;
const process = { env, nextTick, hrtime, cwd, uptime, memoryUsage, emitWarning, platform, arch, version, versions, argv, pid, exit, on: same, once: same, off: same, emit: () => false, stdout: { write: () => true }, stderr: { write: () => true }, features: {}, release: { name: "node" } };
export default process;
