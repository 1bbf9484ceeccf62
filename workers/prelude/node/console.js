// `node:console`.
import { console } from "thunderhead:console";

export const { log, info, warn, error, debug, assert, dir, dirxml, table, trace, group, groupCollapsed, groupEnd } = console;
export const { clear, count, countReset, time, timeEnd, timeLog, timeStamp, profile, profileEnd } = console;
export default console;
