// Points of the curves P-256, P-384 and P-521, for keys that are made here, for signatures and for shared secrets. The numbers
// that a signature needs are the simulator's, so that a run gives the same signature every time.
import { fromHex, toHex } from "thunderhead:text";

const curve = (bits, p, n, b, x, y) => {
  const [prime, order, constant, left, right] = [p, n, b, x, y].map((digits) => BigInt(`0x${digits}`));
  return { size: Math.ceil(bits / 8), p: prime, n: order, b: constant, base: [left, right] };
};

export const CURVES = {
  "P-256": curve(
    256,
    "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff",
    "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
    "5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b",
    "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296",
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
  ),
  "P-384": curve(
    384,
    "fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffeffffffff0000000000000000ffffffff",
    "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973",
    "b3312fa7e23ee7e4988e056be3f82d19181d9c6efe8141120314088f5013875ac656398d8a2ed19d2a85c8edd3ec2aef",
    "aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7",
    "3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f",
  ),
  "P-521": curve(
    521,
    `1ff${"f".repeat(128)}`,
    "1fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409",
    "51953eb9618e1c9a1f929a21a0b68540eea2da725b99b315f3b8b489918ef109e156193951ec7e937b1652c0bd3bb1bf073573df883d2c34f1ef451fd46b503f00",
    "c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66",
    "11839296a789a3bc0045c8a5fb42c7d1bd998f54449579b446817afbd17273e662c97ee72995ef42640c550b9013fad0761353c7086a272c24088be94769fd16650",
  ),
};

export const toNumber = (bytes) => BigInt(`0x${toHex(bytes) || "0"}`);
export const toBytes = (number, size) => fromHex(number.toString(16).padStart(size * 2, "0"));

const modulo = (value, by) => ((value % by) + by) % by;

function inverse(value, by) {
  let [a, b, x, y] = [modulo(value, by), by, 1n, 0n];
  while (a > 1n) {
    const times = b / a;
    [a, b, x, y] = [b - times * a, a, y - times * x, x];
  }
  return modulo(x, by);
}

// A point is kept as three numbers, which saves a division for every step.
function double([x, y, z], p) {
  if (y === 0n) return [0n, 1n, 0n];
  const zz = (z * z) % p;
  const yy = (y * y) % p;
  const s = (4n * x * yy) % p;
  const m = (3n * (x - zz) * (x + zz)) % p;
  const nx = modulo(m * m - 2n * s, p);
  return [nx, modulo(m * (s - nx) - 8n * yy * yy, p), (2n * y * z) % p];
}

function add(one, other, p) {
  if (one[2] === 0n) return other;
  if (other[2] === 0n) return one;
  const [z1, z2] = [(one[2] * one[2]) % p, (other[2] * other[2]) % p];
  const [u1, u2] = [(one[0] * z2) % p, (other[0] * z1) % p];
  const [s1, s2] = [(one[1] * z2 * other[2]) % p, (other[1] * z1 * one[2]) % p];
  const [h, r] = [modulo(u2 - u1, p), modulo(s2 - s1, p)];
  if (h === 0n) return r === 0n ? double(one, p) : [0n, 1n, 0n];
  const hh = (h * h) % p;
  const hhh = (h * hh) % p;
  const v = (u1 * hh) % p;
  const x = modulo(r * r - hhh - 2n * v, p);
  return [x, modulo(r * (v - x) - s1 * hhh, p), (h * one[2] * other[2]) % p];
}

// So many times a point; none if that is no point.
export function multiply({ p }, times, [x, y]) {
  let sum = [0n, 1n, 0n];
  for (const bit of times.toString(2)) {
    sum = double(sum, p);
    if (bit === "1") sum = add(sum, [x, y, 1n], p);
  }
  if (sum[2] === 0n) return undefined;
  const z = inverse(sum[2], p);
  return [(sum[0] * z * z) % p, (sum[1] * z * z * z) % p];
}

export const isOn = ({ p, b }, [x, y]) => modulo(y * y - (x * x * x - 3n * x + b), p) === 0n;

// A number below the order, from bytes that are longer than it.
export const secretFrom = ({ n }, bytes) => (toNumber(bytes) % (n - 1n)) + 1n;

// The two numbers of a signature over a digest.
export function signed({ n, size, base, ...rest }, secret, digest, nonce) {
  const [x] = multiply({ n, size, base, ...rest }, nonce, base);
  const r = x % n;
  const s = modulo(inverse(nonce, n) * (toNumber(digest.slice(0, size)) + r * secret), n);
  return [r, s].map((number) => toBytes(number, size));
}

// Whether a signature over a digest is by the owner of a point.
export function isSigned(curve, owner, digest, signature) {
  const { n, p, size, base } = curve;
  if (signature.byteLength !== 2 * size) return false;
  const [r, s] = [signature.slice(0, size), signature.slice(size)].map(toNumber);
  if (r < 1n || r >= n || s < 1n || s >= n) return false;
  const by = inverse(s, n);
  const [first, second] = [toNumber(digest.slice(0, size)) * by, r * by].map((times) => modulo(times, n));
  const of = (times, point) => (times === 0n ? [0n, 1n, 0n] : [...multiply(curve, times, point), 1n]);
  const [x, , z] = add(of(first, base), of(second, owner), p);
  return z !== 0n && modulo(x * inverse(z * z, p), p) % n === r;
}
