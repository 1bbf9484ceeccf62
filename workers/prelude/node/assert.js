// `node:assert`.
import { isDeepStrictEqual } from "node:util";
import { show } from "thunderhead:console";

export class AssertionError extends Error {
  constructor({ message, actual, expected, operator }) {
    super(message);
    Object.assign(this, { name: "AssertionError", code: "ERR_ASSERTION", actual, expected, operator, generatedMessage: false });
  }
}

function check(holds, message, operator, actual, expected) {
  if (holds) return;
  if (message instanceof Error) throw message;
  throw new AssertionError({ message: message ?? `${show(actual, 1)} ${operator} ${show(expected, 1)}`, actual, expected, operator });
}

// Whether everything that is expected is there; there may be more.
function holdsAllOf(actual, expected) {
  if (typeof expected !== "object" || expected === null || typeof actual !== "object" || actual === null) return isDeepStrictEqual(actual, expected);
  return Object.keys(expected).every((key) => Object.hasOwn(actual, key) && holdsAllOf(actual[key], expected[key]));
}

const assert = (value, message) => check(value, message ?? "The expression evaluated to a falsy value", "==", value, true);
export const ok = (value, message) => assert(value, message);
export const equal = (actual, expected, message) => check(actual == expected, message, "==", actual, expected);
export const notEqual = (actual, expected, message) => check(actual != expected, message, "!=", actual, expected);
export const strictEqual = (actual, expected, message) => check(Object.is(actual, expected), message, "===", actual, expected);
export const notStrictEqual = (actual, expected, message) => check(!Object.is(actual, expected), message, "!==", actual, expected);
export const deepStrictEqual = (actual, expected, message) => check(isDeepStrictEqual(actual, expected), message, "deepStrictEqual", actual, expected);
export const deepEqual = deepStrictEqual;
export const notDeepStrictEqual = (actual, expected, message) => check(!isDeepStrictEqual(actual, expected), message, "notDeepStrictEqual", actual, expected);
export const notDeepEqual = notDeepStrictEqual;
export const partialDeepStrictEqual = (actual, expected, message) => check(holdsAllOf(actual, expected), message, "partialDeepStrictEqual", actual, expected);
export const doesNotMatch = (text, pattern, message) => check(!pattern.test(text), message ?? `actual: "${text}" expected to not match: "${pattern}"`, "doesNotMatch", text, pattern);
export const match = (text, pattern, message) => check(pattern.test(text), message, "matches", text, pattern);
export function fail(message = "Failed") {
  check(false, message, "fail");
}
export function throws(work, expected, message) {
  try {
    work();
  } catch (error) {
    if (expected instanceof RegExp) check(expected.test(String(error)), message, "throws", error, expected);
    return;
  }
  check(false, message ?? "Missing expected exception.", "throws");
}
export async function rejects(work, expected, message) {
  try {
    await (typeof work === "function" ? work() : work);
  } catch (error) {
    if (expected instanceof RegExp) check(expected.test(String(error)), message, "rejects", error, expected);
    return;
  }
  check(false, message ?? "Missing expected rejection.", "rejects");
}
// What is thrown where nothing should be.
const unwanted = (error, operator, message) => check(false, message ?? `Got unwanted exception.\nActual message: "${error?.message}"`, operator, error);
export function doesNotThrow(work, message) {
  try {
    work();
  } catch (error) {
    unwanted(error, "doesNotThrow", message);
  }
}
export async function doesNotReject(work, message) {
  try {
    await (typeof work === "function" ? work() : work);
  } catch (error) {
    unwanted(error, "doesNotReject", message);
  }
}
export function ifError(error) {
  if (error !== null && error !== undefined) check(false, `ifError got unwanted exception: ${error.message ?? show(error)}`, "ifError", error, null);
}
Object.assign(assert, { doesNotThrow, doesNotReject, ifError, notDeepEqual, partialDeepStrictEqual, doesNotMatch, AssertionError, ok, equal, notEqual, strictEqual, notStrictEqual, deepStrictEqual, deepEqual, notDeepStrictEqual, match, fail, throws, rejects });
assert.strict = assert;
export const strict = assert;
export default assert;
