// What a program imports from `cloudflare:email`. Mail is not simulated: a message can be made and not sent.
export class EmailMessage {
  constructor(from, to, raw) {
    Object.assign(this, { from: String(from), to: String(to), raw });
  }
}
