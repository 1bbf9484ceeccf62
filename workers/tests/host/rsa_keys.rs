//! New keys of RSA.

use crate::support::value;

#[test]
fn new_keys_of_rsa_are_given_in_turn_and_do_what_they_are_for() {
    let said = value(
        "(async () => {
           const { subtle } = crypto;
           const made = (name, modulusLength, usages, extractable = true) => subtle.generateKey({ name, modulusLength, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' }, extractable, usages);
           const data = new TextEncoder().encode('hello');
           const found = [];
           const moduli = new Set();
           for (const [name, bits] of [['RSASSA-PKCS1-v1_5', 2048], ['RSASSA-PKCS1-v1_5', 3072], ['RSASSA-PKCS1-v1_5', 4096], ['RSA-PSS', 2048]]) {
             const { publicKey, privateKey } = await made(name, bits, ['sign', 'verify'], false);
             const how = { name, saltLength: 32 };
             const signature = await subtle.sign(how, privateKey, data);
             moduli.add((await subtle.exportKey('jwk', publicKey)).n);
             found.push(await subtle.verify(how, publicKey, signature, data), await subtle.verify(how, publicKey, signature, new Uint8Array(5)), signature.byteLength);
             found.push(publicKey.usages[0], privateKey.usages[0], publicKey.extractable, privateKey.extractable);
           }
           const { publicKey, privateKey } = await made('RSA-OAEP', 2048, ['encrypt', 'decrypt']);
           moduli.add((await subtle.exportKey('jwk', publicKey)).n);
           const oaep = { name: 'RSA-OAEP' };
           const opened = await subtle.decrypt(oaep, privateKey, await subtle.encrypt(oaep, publicKey, data));
           const { name, modulusLength, publicExponent, hash } = privateKey.algorithm;
           return [found.join(' '), moduli.size, new TextDecoder().decode(opened), name, modulusLength, [...publicExponent], hash];
         })()",
    );
    let signed = |bits: u32| format!("true false {} verify sign true false", bits / 8);
    let found = [2048, 3072, 4096, 2048].map(signed).join(" ");
    assert_eq!(
        said,
        format!(r#"["{found}",5,"hello","RSA-OAEP",2048,[1,0,1],{{"name":"SHA-256"}}]"#)
    );
}

#[test]
fn a_key_of_rsa_of_another_length_or_for_another_use_is_refused() {
    let said = value(
        "(async () => {
           const why = (given, usages = ['sign', 'verify']) => crypto.subtle.generateKey({ name: 'RSA-PSS', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256', ...given }, true, usages)
             .then(() => 'made', ({ name, message }) => `${name}: ${message}`);
           return [await why({ modulusLength: 1024 }), await why({ publicExponent: new Uint8Array([3]) }), (await why({}, ['encrypt'])).split(':')[0]];
         })()",
    );
    assert_eq!(said.matches("NotSupportedError: ").count(), 2, "{said}");
    assert_eq!(said.matches("2048, 3072, 4096 bits with 65537 are.").count(), 2, "{said}");
    assert!(said.ends_with(r#","SyntaxError"]"#), "{said}");
}
