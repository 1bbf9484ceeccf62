// `node:timers`.
import { clearImmediate, clearInterval, clearTimeout } from "thunderhead:time";
import { Timeout, setImmediate, setInterval, setTimeout } from "thunderhead:timeout";
import * as promises from "node:timers/promises";

export { Timeout, clearImmediate, clearInterval, clearTimeout, promises, setImmediate, setInterval, setTimeout };
export default { Timeout, setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate, promises };
