// `node:process`. `env` has the variables of the Worker, as text.
import natives from "thunderhead:natives";
import { env as bindings, isValue } from "thunderhead:bindings";
import { console } from "thunderhead:console";

// A variable that is no text is written as one.
function textOf(name) {
  const value = isValue(name) ? bindings[name] : undefined;
  return value === undefined || typeof value === "string" ? value : JSON.stringify(value);
}

export const env = new Proxy(
  {},
  {
    get: (own, name) => own[name] ?? textOf(name),
    has: (own, name) => name in own || textOf(name) !== undefined,
    set: (own, name, value) => {
      own[name] = String(value);
      return true;
    },
    ownKeys: (own) => [...new Set([...Reflect.ownKeys(own), ...Object.keys(bindings).filter((name) => textOf(name) !== undefined)])],
    getOwnPropertyDescriptor: (own, name) => {
      const value = own[name] ?? textOf(name);
      return value === undefined ? undefined : { value, writable: true, enumerable: true, configurable: true };
    },
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
export const [title, argv0, argv, execArgv, execPath, pid, ppid] = ["workerd", "workerd", ["workerd"], [], "", 1, 0];
export const [connected, noDeprecation, throwDeprecation, traceDeprecation, sourceMapsEnabled] = [false, false, false, false, false];
export const [channel, domain, exitCode, debugPort] = [null, null, undefined, 0];
export const [features, release, config, report, permission] = [{}, { name: "node", lts: true }, { target_defaults: {}, variables: {} }, {}, {}];
export const [allowedNodeEnvironmentFlags, moduleLoadList] = [new Set(), []];
export const umask = () => 18;
const [nobody, none] = [() => 0, () => []];
export const [getuid, geteuid, getgid, getegid, getgroups] = [nobody, nobody, nobody, nobody, () => [0]];
export const [cpuUsage, threadCpuUsage, resourceUsage] = [() => ({ user: 0, system: 0 }), () => ({ user: 0, system: 0 }), () => ({})];
export const [getActiveResourcesInfo, availableMemory, constrainedMemory, ref, unref] = [none, nobody, nobody, () => {}, () => {}];
export const exit = () => {
  throw new Error("process.exit() is not simulated: a Worker ends when its handler returns.");
};
// What is written goes where the console writes.
const output = (fd) => ({ fd, writable: true, write: (text) => (console.log(String(text).replace(/\n$/, "")), true), end: () => {}, on: () => {}, once: () => {} });
export const [stdout, stderr, stdin] = [output(1), output(2), { fd: 0, readable: false, on: () => {} }];
const same = () => process;
const told = { env, nextTick, hrtime, cwd, uptime, memoryUsage, emitWarning, platform, arch, version, versions, title, argv0, argv, execArgv, execPath, pid, ppid, connected, noDeprecation, throwDeprecation, traceDeprecation, sourceMapsEnabled };
const asked = { umask, getuid, geteuid, getgid, getegid, getgroups, cpuUsage, threadCpuUsage, resourceUsage, getActiveResourcesInfo, availableMemory, constrainedMemory, ref, unref, exit, stdout, stderr, stdin };
const process = { ...told, channel, domain, exitCode, debugPort, features, release, config, report, permission, allowedNodeEnvironmentFlags, moduleLoadList, ...asked, on: same, once: same, off: same, emit: () => false };
Object.defineProperty(process, Symbol.toStringTag, { value: "process", configurable: true });
export default process;
