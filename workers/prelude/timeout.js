// Timers as Node has them: objects that become the number of their timer where one is wanted.
import * as time from "thunderhead:time";

export class Timeout {
  #begin;
  #id;
  #isReferenced = true;
  constructor(begin) {
    [this.#begin, this.#id] = [begin, begin()];
  }
  // Begins it anew.
  refresh() {
    this.close();
    this.#id = this.#begin();
    return this;
  }
  // A Worker does not stay open for its timers, so these two change nothing else.
  ref() {
    this.#isReferenced = true;
    return this;
  }
  unref() {
    this.#isReferenced = false;
    return this;
  }
  hasRef() {
    return this.#isReferenced;
  }
  close() {
    time.clearInterval(this.#id);
    return this;
  }
  [Symbol.toPrimitive]() {
    return this.#id;
  }
}
class Immediate extends Timeout {}

export const setTimeout = (...given) => new Timeout(() => time.setTimeout(...given));
export const setInterval = (...given) => new Timeout(() => time.setInterval(...given));
export const setImmediate = (...given) => new Immediate(() => time.setImmediate(...given));
