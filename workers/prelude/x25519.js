// The curve of X25519, on which a point is one number: secrets that two share.
import { fromHex, toHex } from "thunderhead:text";

const P = 2n ** 255n - 19n;
const A24 = 121665n;
const modulo = (value) => ((value % P) + P) % P;

function power(base, exponent) {
  let [result, square] = [1n, base];
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = (result * square) % P;
    square = (square * square) % P;
  }
  return result;
}

const swapped = (bytes) => new Uint8Array(bytes).slice().reverse();
const toNumber = (bytes) => BigInt(`0x${toHex(swapped(bytes).buffer)}`);
const toBytes = (number) => swapped(fromHex(number.toString(16).padStart(64, "0"))).buffer;

// The number of a secret: some of its bits are always the same.
const scalar = (secret) => (toNumber(secret) & ((1n << 254n) - 8n)) | (1n << 254n);

// So many times a point, by the ladder of RFC 7748.
function multiply(times, x) {
  let [x2, z2, x3, z3] = [1n, 0n, x, 1n];
  for (let bit = 254n; bit >= 0n; bit -= 1n) {
    const one = (times >> bit) & 1n;
    if (one) [x2, z2, x3, z3] = [x3, z3, x2, z2];
    const [a, b, c, d] = [x2 + z2, x2 - z2, x3 + z3, x3 - z3];
    const [aa, bb, da, cb] = [modulo(a * a), modulo(b * b), modulo(d * a), modulo(c * b)];
    const e = aa - bb;
    [x3, z3] = [modulo((da + cb) ** 2n), modulo(x * (da - cb) ** 2n)];
    [x2, z2] = [modulo(aa * bb), modulo(e * (aa + A24 * e))];
    if (one) [x2, z2, x3, z3] = [x3, z3, x2, z2];
  }
  return modulo(x2 * power(z2, P - 2n));
}

export const publicHalf = (secret) => toBytes(multiply(scalar(secret), 9n));
export const shared = (secret, point) => toBytes(multiply(scalar(secret), modulo(toNumber(point) & ((1n << 255n) - 1n))));
