// What a program imports from `cloudflare:email`: a message that a binding can send.
export class EmailMessage {
  constructor(from, to, raw) {
    Object.assign(this, { from: String(from), to: String(to), raw });
  }
}
