// What a program imports from `cloudflare:workflows`.
import { nonRetryable } from "thunderhead:operation";

export class NonRetryableError extends Error {
  constructor(message, name = "NonRetryableError") {
    super(message);
    this.name = name;
    Object.defineProperty(this, nonRetryable, { value: true });
  }
}
