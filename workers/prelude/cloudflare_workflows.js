// What a program imports from `cloudflare:workflows`. The engine knows the error by its name.
export class NonRetryableError extends Error {
  constructor(message, name = "NonRetryableError") {
    super(message);
    this.name = name;
  }
}
