// Stacks as the runtime writes them: the name and the message of the error, and then the places, innermost first. The
// engine writes the places alone. The first line is made when a stack is read, as in the runtime, so it has the name
// that a constructor has set.
const { defineProperty, getOwnPropertyDescriptor } = Object;
const { toString } = Error.prototype;
const { get: places, set } = getOwnPropertyDescriptor(Error.prototype, "stack");
const capture = Error.captureStackTrace;

function headed(error, stack) {
  // A program that writes its stacks itself has written all of it.
  if (typeof stack !== "string" || typeof Error.prepareStackTrace === "function") return stack;
  return `${toString.call(error)}\n${stack}`.trimEnd();
}

const get = function () {
  return headed(this, places.call(this));
};
defineProperty(Error.prototype, "stack", { get, set, configurable: true });

// The places begin with the one that called this function, or that called the one that is named.
const captureStackTrace = function (target, above = captureStackTrace) {
  capture(target, above);
  const { value } = getOwnPropertyDescriptor(target, "stack");
  defineProperty(target, "stack", { value: headed(target, value), writable: true, configurable: true });
};
defineProperty(Error, "captureStackTrace", { value: captureStackTrace, writable: true, configurable: true });
