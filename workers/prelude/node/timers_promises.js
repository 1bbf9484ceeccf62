// `node:timers/promises`.
import { scheduler, setTimeout as begin } from "thunderhead:time";

export const setTimeout = (delay, value) => new Promise((resolve) => begin(() => resolve(value), delay));
export const setImmediate = (value) => setTimeout(0, value);
export async function* setInterval(delay, value) {
  for (;;) yield await setTimeout(delay, value);
}
export { scheduler };
export default { setTimeout, setImmediate, setInterval, scheduler };
