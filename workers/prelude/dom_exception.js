// The exceptions of web APIs. Their code is their own property, as in the runtime.
const CODES = {
  IndexSizeError: 1,
  HierarchyRequestError: 3,
  WrongDocumentError: 4,
  InvalidCharacterError: 5,
  NoModificationAllowedError: 7,
  NotFoundError: 8,
  NotSupportedError: 9,
  InUseAttributeError: 10,
  InvalidStateError: 11,
  SyntaxError: 12,
  InvalidModificationError: 13,
  NamespaceError: 14,
  InvalidAccessError: 15,
  TypeMismatchError: 17,
  SecurityError: 18,
  NetworkError: 19,
  AbortError: 20,
  URLMismatchError: 21,
  QuotaExceededError: 22,
  TimeoutError: 23,
  InvalidNodeTypeError: 24,
  DataCloneError: 25,
};

export class DOMException extends Error {
  constructor(message = "", options = "Error") {
    const { name = "Error", cause } = typeof options === "object" && options !== null ? options : { name: options };
    super(String(message), cause === undefined ? undefined : { cause });
    Object.defineProperty(this, "name", { value: String(name), configurable: true, writable: true });
    Object.defineProperty(this, "code", { value: CODES[name] ?? 0, configurable: true, writable: true });
  }
}

for (const [name, code] of Object.entries(CODES)) {
  const constant = name.replace(/Error$/, "").replace(/([a-z])([A-Z])/g, "$1_$2").toUpperCase() + "_ERR";
  for (const target of [DOMException, DOMException.prototype]) Object.defineProperty(target, constant, { value: code, enumerable: true });
}
