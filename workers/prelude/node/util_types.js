// `node:util/types`.
import { types } from "thunderhead:types";

export const { isDate, isRegExp, isPromise, isMap, isSet, isWeakMap, isWeakSet, isArrayBuffer, isDataView, isUint8Array } = types;
export const { isUint8ClampedArray, isUint16Array, isUint32Array, isInt8Array, isInt16Array, isInt32Array, isFloat32Array } = types;
export const { isFloat64Array, isBigInt64Array, isBigUint64Array, isArgumentsObject, isAsyncFunction, isCryptoKey, isFloat16Array } = types;
export const { isGeneratorFunction, isGeneratorObject, isKeyObject, isMapIterator, isModuleNamespaceObject, isSetIterator } = types;
export const { isSharedArrayBuffer, isBigIntObject, isBooleanObject, isNumberObject, isStringObject, isSymbolObject, isAnyArrayBuffer } = types;
export const { isArrayBufferView, isBoxedPrimitive, isNativeError, isTypedArray, isExternal } = types;
export default types;
