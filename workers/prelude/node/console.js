// `node:console`.
import { console } from "thunderhead:console";

export const { log, info, warn, error, debug } = console;
export default console;
