// `node:timers/promises`.
import { scheduler, setTimeout as begin } from "thunderhead:time";

export const setTimeout = (delay, value) => new Promise((resolve) => begin(() => resolve(value), delay));
export const setImmediate = (value) => setTimeout(0, value);
export { scheduler };
export default { setTimeout, setImmediate, scheduler };
