// `node:util/types`.
import { types } from "node:util";

export const { isDate, isRegExp, isPromise, isMap, isSet, isNativeError, isTypedArray, isUint8Array, isArrayBuffer, isAnyArrayBuffer } = types;
export default types;
