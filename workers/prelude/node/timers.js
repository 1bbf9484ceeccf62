// `node:timers`.
import { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } from "thunderhead:time";
import * as promises from "node:timers/promises";

export { clearImmediate, clearInterval, clearTimeout, promises, setImmediate, setInterval, setTimeout };
export default { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate, promises };
