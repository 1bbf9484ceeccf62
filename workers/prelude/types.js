// `util.types`: what a value is. What only the engine can tell is told by how it is written.
const tagOf = (value) => Object.prototype.toString.call(value).slice(8, -1);
const isObject = (value) => typeof value === "object" && value !== null;
// The classes whose instances are told by their class.
const CLASSES = { Date, RegExp, Promise, Map, Set, WeakMap, WeakSet, ArrayBuffer, DataView, Uint8Array, Uint8ClampedArray, Uint16Array, Uint32Array };
Object.assign(CLASSES, { Int8Array, Int16Array, Int32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array });
const isTagged = (tag) => (value) => (isObject(value) || typeof value === "function") && tagOf(value) === tag;
const boxed = (type) => (value) => isObject(value) && typeof Object.prototype.valueOf.call(value) === "object" && typeof value.valueOf?.() === type && tagOf(value).toLowerCase() === type;
const BOXES = { isBigIntObject: boxed("bigint"), isBooleanObject: boxed("boolean"), isNumberObject: boxed("number"), isStringObject: boxed("string"), isSymbolObject: boxed("symbol") };
const TAGS = {
  ...{ isArgumentsObject: "Arguments", isAsyncFunction: "AsyncFunction", isCryptoKey: "CryptoKey", isFloat16Array: "Float16Array", isGeneratorFunction: "GeneratorFunction" },
  ...{ isGeneratorObject: "Generator", isKeyObject: "KeyObject", isMapIterator: "Map Iterator", isModuleNamespaceObject: "Module", isSetIterator: "Set Iterator" },
  isSharedArrayBuffer: "SharedArrayBuffer",
};

export const types = {
  ...Object.fromEntries(Object.entries(CLASSES).map(([name, Class]) => [`is${name}`, (value) => value instanceof Class])),
  ...Object.fromEntries(Object.entries(TAGS).map(([name, tag]) => [name, isTagged(tag)])),
  ...BOXES,
  isAnyArrayBuffer: (value) => value instanceof ArrayBuffer || isTagged("SharedArrayBuffer")(value),
  isArrayBufferView: (value) => ArrayBuffer.isView(value),
  isBoxedPrimitive: (value) => Object.values(BOXES).some((is) => is(value)),
  isNativeError: (value) => Error.isError(value),
  isTypedArray: (value) => ArrayBuffer.isView(value) && !(value instanceof DataView),
  isExternal: () => false,
};
