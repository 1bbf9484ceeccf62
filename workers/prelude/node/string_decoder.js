// `node:string_decoder`: UTF-8 keeps what is not whole until the rest comes; the other encodings have no such thing.
import { TextDecoder } from "thunderhead:text";
import { Buffer } from "node:buffer";

export class StringDecoder {
  #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  constructor(encoding = "utf8") {
    this.encoding = String(encoding).toLowerCase().replace("-", "");
  }
  write(bytes) {
    if (this.encoding !== "utf8") return Buffer.from(bytes).toString(this.encoding);
    return this.#decoder.decode(bytes, { stream: true });
  }
  end(bytes) {
    if (this.encoding !== "utf8") return bytes === undefined ? "" : this.write(bytes);
    return this.#decoder.decode(bytes);
  }
}
export default { StringDecoder };
