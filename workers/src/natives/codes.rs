//! Digests, codes, ciphers, signatures and compression, for the prelude.

use rquickjs::function::Opt;
use rquickjs::{ArrayBuffer, Ctx, Exception, Function, Object, Result};

use super::convert::body;
use super::{aes, digest, packing, signature};

type Buffer<'js> = ArrayBuffer<'js>;

pub fn install<'js>(ctx: &Ctx<'js>, natives: &Object<'js>) -> Result<()> {
    digests(ctx, natives)?;
    ciphers(ctx, natives)?;
    compression(ctx, natives)
}

/// The bytes as a buffer, or an error with these words if there are none.
fn buffer<'js>(ctx: &Ctx<'js>, found: Option<Vec<u8>>, otherwise: &str) -> Result<Buffer<'js>> {
    let found = found.ok_or_else(|| Exception::throw_message(ctx, otherwise))?;
    ArrayBuffer::new_copy(ctx.clone(), found)
}

fn digests<'js>(ctx: &Ctx<'js>, natives: &Object<'js>) -> Result<()> {
    let unknown = "Unrecognized or unimplemented digest algorithm requested.";
    let of = move |ctx: Ctx<'js>, name: String, bytes: Buffer<'js>| {
        buffer(&ctx, digest::digest(&name, body(&bytes).bytes()), unknown)
    };
    natives.set("digest", Function::new(ctx.clone(), of)?)?;
    let of = move |ctx: Ctx<'js>, name: String, key: Buffer<'js>, bytes: Buffer<'js>| {
        buffer(&ctx, digest::hmac(&name, body(&key).bytes(), body(&bytes).bytes()), unknown)
    };
    natives.set("hmac", Function::new(ctx.clone(), of)?)?;
    let of = move |ctx: Ctx<'js>,
                   name: String,
                   rounds: u32,
                   length: usize,
                   key: Buffer<'js>,
                   salt: Buffer<'js>,
                   info: Opt<Buffer<'js>>| {
        let (key, salt) = (body(&key), body(&salt));
        let found = match info.0 {
            Some(info) => {
                digest::hkdf(&name, key.bytes(), salt.bytes(), body(&info).bytes(), length)
            }
            None => digest::pbkdf2(&name, key.bytes(), salt.bytes(), rounds, length),
        };
        buffer(&ctx, found, unknown)
    };
    natives.set("derive", Function::new(ctx.clone(), of)?)
}

/// Each gives nothing where there is no such algorithm, or where a key or a text is none of it.
fn ciphers<'js>(ctx: &Ctx<'js>, natives: &Object<'js>) -> Result<()> {
    type Cipher = fn(&[u8], &[u8], &[u8], &[u8], usize) -> Option<Vec<u8>>;
    for (name, cipher) in [("seal", aes::seal as Cipher), ("open", aes::open)] {
        let of = move |ctx: Ctx<'js>,
                       key: Buffer<'js>,
                       nonce: Buffer<'js>,
                       with: Buffer<'js>,
                       text: Buffer<'js>,
                       tag: usize| {
            let (key, nonce, with) = (body(&key), body(&nonce), body(&with));
            let found = cipher(key.bytes(), nonce.bytes(), with.bytes(), body(&text).bytes(), tag);
            found.map(|found| ArrayBuffer::new_copy(ctx, found)).transpose()
        };
        natives.set(name, Function::new(ctx.clone(), of)?)?;
    }
    type Chained = fn(&[u8], &[u8], &[u8]) -> Option<Vec<u8>>;
    let wrap: Chained = |key, _, text| aes::wrap(key, text);
    let unwrap: Chained = |key, _, text| aes::unwrap(key, text);
    for (name, cipher) in [
        ("cbcEncrypt", aes::cbc_encrypt as Chained),
        ("cbcDecrypt", aes::cbc_decrypt),
        ("wrap", wrap),
        ("unwrap", unwrap),
    ] {
        let of = move |ctx: Ctx<'js>, key: Buffer<'js>, iv: Buffer<'js>, text: Buffer<'js>| {
            let found = cipher(body(&key).bytes(), body(&iv).bytes(), body(&text).bytes());
            found.map(|found| ArrayBuffer::new_copy(ctx, found)).transpose()
        };
        natives.set(name, Function::new(ctx.clone(), of)?)?;
    }
    let ctr =
        |ctx: Ctx<'js>, key: Buffer<'js>, counter: Buffer<'js>, bits: u32, text: Buffer<'js>| {
            let found =
                aes::ctr(body(&key).bytes(), body(&counter).bytes(), bits, body(&text).bytes());
            found.map(|found| ArrayBuffer::new_copy(ctx, found)).transpose()
        };
    natives.set("ctr", Function::new(ctx.clone(), ctr)?)?;
    signatures(ctx, natives)
}

/// As with ciphers, nothing is the answer where there is no such algorithm.
fn signatures<'js>(ctx: &Ctx<'js>, natives: &Object<'js>) -> Result<()> {
    let verify = |algorithm: String, key: Buffer<'js>, text: Buffer<'js>, signed: Buffer<'js>| {
        let (key, text, signed) = (body(&key), body(&text), body(&signed));
        signature::verify(&algorithm, key.bytes(), text.bytes(), signed.bytes())
    };
    natives.set("verify", Function::new(ctx.clone(), verify)?)?;
    let sign = |ctx: Ctx<'js>, algorithm: String, key: Buffer<'js>, text: Buffer<'js>| {
        let found = signature::sign(&algorithm, body(&key).bytes(), body(&text).bytes());
        found.map(|found| ArrayBuffer::new_copy(ctx, found)).transpose()
    };
    natives.set("sign", Function::new(ctx.clone(), sign)?)?;
    let public = |ctx: Ctx<'js>, seed: Buffer<'js>| {
        let found = signature::ed25519_public(body(&seed).bytes());
        found.map(|found| ArrayBuffer::new_copy(ctx, found)).transpose()
    };
    natives.set("ed25519Public", Function::new(ctx.clone(), public)?)
}

fn compression<'js>(ctx: &Ctx<'js>, natives: &Object<'js>) -> Result<()> {
    let of = |ctx: Ctx<'js>, format: String, bytes: Buffer<'js>| {
        buffer(&ctx, packing::compress(&format, body(&bytes).bytes()), "Compression failed.")
    };
    natives.set("compress", Function::new(ctx.clone(), of)?)?;
    let of = |ctx: Ctx<'js>, format: String, bytes: Buffer<'js>| {
        let found = packing::decompress(&format, body(&bytes).bytes());
        let found = found.ok_or_else(|| Exception::throw_type(&ctx, "Decompression failed."))?;
        ArrayBuffer::new_copy(ctx, found)
    };
    natives.set("decompress", Function::new(ctx.clone(), of)?)
}
