//! Ciphers and wrapped keys of `crypto.subtle`. What is expected was made by the runtime, workerd 1.20260426.1, or is
//! in the standards (`workers/src/natives/aes.rs`).

use crate::support::value;

const HELPERS: &str = "const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  const bytes = (text) => new TextEncoder().encode(text);
  const text = (bytes) => new TextDecoder().decode(bytes);";

fn said(body: &str) -> String {
    value(&format!("(async () => {{ {HELPERS} {body} }})()"))
}

#[test]
fn every_mode_of_aes_gives_what_the_runtime_gives() {
    for (algorithm, size, expected) in [
        ("{ name: 'AES-CBC', iv: new Uint8Array(16) }", 128, "5c77a4f1c277a7629f98220cd0fa26d9"),
        ("{ name: 'AES-CBC', iv: new Uint8Array(16) }", 192, "a101f4b86915e04cbd977551e3be9d06"),
        ("{ name: 'AES-CBC', iv: new Uint8Array(16) }", 256, "8238edc08278b8f99480d94112e7be94"),
        (
            "{ name: 'AES-CTR', counter: new Uint8Array(16).fill(255), length: 64 }",
            128,
            "02b210b6d68dc4d09f4d8b",
        ),
        (
            "{ name: 'AES-CTR', counter: new Uint8Array(16).fill(255), length: 64 }",
            192,
            "2de4905fa512cff27621c9",
        ),
        (
            "{ name: 'AES-CTR', counter: new Uint8Array(16).fill(255), length: 64 }",
            256,
            "6436e1096675f0a83bba0f",
        ),
        (
            "{ name: 'AES-GCM', iv: new Uint8Array(12) }",
            128,
            "9b513e1f49b57446ea599a851ae6ecd11b56b002fb7838b356e80c",
        ),
        (
            "{ name: 'AES-GCM', iv: new Uint8Array(12) }",
            192,
            "0dba0691facb71416a6e65bef4800f44978309a0edc61e691ea668",
        ),
        (
            "{ name: 'AES-GCM', iv: new Uint8Array(12) }",
            256,
            "d750f4b01a1b74d0e115f6b3c59ad2da7d883fe9d32c16baa48876",
        ),
        (
            "{ name: 'AES-GCM', iv: new Uint8Array(16), tagLength: 96, additionalData: new Uint8Array(20) }",
            256,
            "19cf102a3917804bc3578c7ce9e64998681260a7a6a146",
        ),
    ] {
        let found = said(&format!(
            "const algorithm = {algorithm};
             const key = await crypto.subtle.importKey('raw', new Uint8Array({size} / 8).fill(1), algorithm.name, true, ['encrypt', 'decrypt']);
             const sealed = await crypto.subtle.encrypt(algorithm, key, bytes('hello world'));
             return [hex(sealed), text(await crypto.subtle.decrypt(algorithm, key, sealed))];"
        ));
        assert_eq!(found, format!(r#"["{expected}","hello world"]"#), "{algorithm} {size}");
    }
}

#[test]
fn what_is_no_text_of_a_cipher_is_refused() {
    let found = said(
        "const key = await crypto.subtle.generateKey({ name: 'AES-CBC', length: 128 }, false, ['encrypt', 'decrypt']);
         const why = (promise) => promise.then(() => 'done', ({ name }) => name);
         return [await why(crypto.subtle.decrypt({ name: 'AES-CBC', iv: new Uint8Array(16) }, key, new Uint8Array(15))),
           await why(crypto.subtle.encrypt({ name: 'AES-CBC', iv: new Uint8Array(12) }, key, new Uint8Array(1))),
           await why(crypto.subtle.encrypt({ name: 'AES-CBC' }, key, new Uint8Array(1))),
           await why(crypto.subtle.encrypt({ name: 'AES-CTR', counter: new Uint8Array(16), length: 64 }, key, new Uint8Array(1)))];",
    );
    assert_eq!(found, r#"["OperationError","OperationError","TypeError","InvalidAccessError"]"#);
}

#[test]
fn a_key_is_wrapped_in_another_and_unwrapped() {
    let found = said(
        "const { subtle } = crypto;
         const raw = (key) => subtle.exportKey('raw', key).then(hex);
         const key = await subtle.generateKey({ name: 'AES-GCM', length: 256 }, true, ['encrypt']);
         const wrapping = await subtle.generateKey({ name: 'AES-KW', length: 256 }, true, ['wrapKey', 'unwrapKey']);
         const wrapped = await subtle.wrapKey('raw', key, wrapping, 'AES-KW');
         const same = await subtle.unwrapKey('raw', wrapped, wrapping, 'AES-KW', 'AES-GCM', true, ['encrypt']);
         new Uint8Array(wrapped)[0] ^= 1;
         const changed = await subtle.unwrapKey('raw', wrapped, wrapping, 'AES-KW', 'AES-GCM', true, ['encrypt']).catch(({ name }) => name);
         const cipher = await subtle.generateKey({ name: 'AES-GCM', length: 128 }, true, ['wrapKey', 'unwrapKey']);
         const gcm = { name: 'AES-GCM', iv: new Uint8Array(12) };
         const curve = { name: 'ECDSA', namedCurve: 'P-256' };
         const { privateKey } = await subtle.generateKey(curve, true, ['sign', 'verify']);
         const jwk = await subtle.unwrapKey('jwk', await subtle.wrapKey('jwk', privateKey, cipher, gcm), cipher, gcm, curve, true, ['sign']);
         return [wrapped.byteLength, (await raw(key)) === (await raw(same)), changed, jwk.type];",
    );
    assert_eq!(found, r#"[40,true,"OperationError","private"]"#);
}

/// The texts were sealed and signed by another implementation, with the same key.
#[test]
fn a_key_of_rsa_opens_what_others_have_sealed_and_signs_what_holds() {
    let found = said(
        "const { subtle } = crypto;
         const jwk = { kty: 'RSA', n: 'tRZlt6UmPRt0vkNER3uZ_NshErMsdiQwECwVD3jS4VkLH2l5EFvagd-GputQTQkFtodgNu0Fxi0qp1pnDQZclErXecwuX3xY0oXlDe9fOmrdsCOV9JLxj5cEM01czE52JV5h1GgKcLIhOAFmyfxGyJ7WSzT9qUwruxXc67qgVaf-8dXIfvJxC1Xox-fBVIhrAAW-IpqgVP1e-MmexfFnQ_Bs7n5IMBQXKFTb6QNMZch-kRzYLxCDMe69J9p6jq0BavTdq1m33qoVPhGNcEbZ8s194Z3X5o_8c_TSukroEdiIbDmGVfdO19CsrkCCCbg1WJUYVHBLHrrtIVUzY-2LoQ', e: 'AQAB',
             d: 'DsLYyhunXnjOpIm61vGE2l80YXVYgk2DMMufGzKX91rjn2JgxiFup4KEfou_m8qd_BnUkSBIsGBTJ0QlEqM6SF5CFUFnEE0vDQNxae2MFNN25wTnlCxRjjOwWcw3Fx0C4BtC8eZZ34ODALE140YcsP19mLDPnTgXzSQZl4o6x_CKpdtJTRxSoX0EQDPe4pTRU2FW_1zrIAUw-C6OwLdu95vQS-XjmHqcRJ11eBdFRPLdAuil6Wd7NM1Q0AbefrkNG4E63EX4EQj17lKw6-rbWw65swxuS3AUDzy3ltKQXgiQDBwTwprL1B5vce0iQ0eb8oCVvdAET19nGD9G9mdcrw',
             p: '7seAq_CkdefRAZxWf78_ItGoSsW6oOv-GxQIGH1CMbpJL6jdqjMQObceZSO01VNv6FMcwiv91yEDJAlpJAoIONUtoquvcJwfejmkkUiRvypZ-4XTj7O2yxLsW36dpi9h8VCa8Zoy5bwPGnPWnrHvk71VURNbTQqdUl2wfTaeQU8', q: 'wiXAT3fvirXEDxXmxjrRgDTyOeFY_WiM-ZlFjIxjKIRqncYkQ27CxNsrnScb6FZpM4dTxaFwlVJ5hH8jSkk2PyuDmNGzkxwwCYRDniVGK9bAauFazVxCBwKThArAHvpOnt7p_Yb0u9bnzw3X-gWAjDp-7xz2IC_4pry5mlu-yA8',
             dp: 'JYja4yxazeX45uXqev5XMGQArnBSnAU81ojZlO_rveFoq8NBxQVt4YS1lHR-cqJBDyYxeRxtNKoN0lZgXrfs_vIT0GRoma0RDaeOBQCBWKmRp4Yr8YTwkQ-Sc_d9VKhSHxrqoFv68D4VqbTX4e5amMDEbpA6Y-vtOwtbOPOjAOU', dq: 'I4TwmBljM8dpZTEmlWGxbnlBT6GQvFviXs_Rz5LnmUQQlWjovYWIEKfgZNIA4xLcEFdT1jZg-JCsNrdj53VZfVkirFTBO8rOZw9Rp58-JUsWzPcJu8SDN_Eat--XkpNMyvgRaxbDs5HvuwvXVaCoEf-ptWlhBiaAoVCpzDm4v7U', qi: 'XO9elKuGta8Sey9Qxu5ErR7SIo3h-ki8NyMOXs0eKjAAFTSssKz5takPXHBJGO_sbPKs8Z5G-aXx7jEN_JzF8DOs70qQGqxxDpdt3v0v3Ok16NYbnNm6rQyq-gruqViF2P8LGCnQ9wzHIT5QiegrHTZprq3A-35Jdnp9CkLinqg' };
         const half = ({ kty, n, e }) => ({ kty, n, e });
         const oaep = { name: 'RSA-OAEP', hash: 'SHA-256' };
         const secret = await subtle.importKey('jwk', jwk, oaep, true, ['decrypt']);
         const open = await subtle.importKey('jwk', half(jwk), oaep, true, ['encrypt']);
         const theirs = Uint8Array.from(atob('WO6y/COHk3qEdncCz16NnHcxUS4DBB4mzRSzejDTPjNtYvZlqDBdrQz0oJf+jpgFXaQ+LqjGPYojo/p6eQIjOrZkvFzFbUtSdEdjsPQcZoMjdD2a1vwBgklqxABzCzPvAb95dByZQvahQXxgLr9W4YHCjHxE8w9iH8zCx5EeygLp4YQHKNkZOvkI2R8Xa/bngckOY64Ra0WJ2M3x5wD7mfRomqg/OKmvWGUzl1NUxBMKrBFSS/zMm5WeGAGJZTNUNunSdc+Nn2pcQ01HULKGkwsmZyNEuF8D0Z73oaiBWyeDCtgPaBazX0VOOkSH/28zv7bxwQmeR5URC05Pvc93PA=='), (letter) => letter.charCodeAt(0));
         const mine = await subtle.encrypt(oaep, open, bytes('mine'));
         const label = { name: 'RSA-OAEP', label: bytes('other') };
         const wrong = await subtle.decrypt(label, secret, mine).catch(({ name }) => name);
         const pss = { name: 'RSA-PSS', hash: 'SHA-256', saltLength: 32 };
         const signature = await subtle.sign(pss, await subtle.importKey('jwk', jwk, pss, true, ['sign']), bytes('signed'));
         const verifying = await subtle.importKey('jwk', half(jwk), pss, true, ['verify']);
         const holds = (said) => subtle.verify(pss, verifying, signature, bytes(said));
         return [text(await subtle.decrypt(oaep, secret, theirs)), text(await subtle.decrypt(oaep, secret, mine)), wrong, await holds('signed'), await holds('changed')];",
    );
    assert_eq!(found, r#"["theirs","mine","OperationError",true,false]"#);
}

/// The keys, the secret and the signature were made by OpenSSL.
#[test]
fn secrets_of_x25519_and_signatures_of_p521_are_those_of_others() {
    let found = said(
        "const from = (digits) => new Uint8Array(digits.match(/../g).map((pair) => parseInt(pair, 16)));
         const mine = await crypto.subtle.importKey('pkcs8', from('302e020100300506032b656e042204202878eee3063b4cca320418317aba4f754a556ebac0985e1d5910729321b5e147'), 'X25519', true, ['deriveBits']);
         const theirs = await crypto.subtle.importKey('spki', from('302a300506032b656e03210024bc87815dd0b862405123e1fde4eb336f5ac93b44473c19e129db8a9380f904'), 'X25519', true, []);
         const shared = hex(await crypto.subtle.deriveBits({ name: 'X25519', public: theirs }, mine, 256));
         const jwk = {'kty': 'EC', 'crv': 'P-521', 'x': 'AKLDu5teMiJ9_VP3k9SQzuqAOXduQq5vu6Kc43Alg5516zUGXjFjdGDj9NX7clvFjiowuv0zS7OF7BnzrZ9hDmbJ', 'y': 'AbfQBslM9yEMRnW5Y7TH5g3k0Qtzuc273gi-QqnTfdWsXMIABQbPB7cXHM20KrdHT94lRQtjZBgWpbJ1w_L0LtmH'};
         const key = await crypto.subtle.importKey('jwk', jwk, { name: 'ECDSA', namedCurve: 'P-521' }, true, ['verify']);
         const signature = from('0104cf8911aad51da7d18150031187d2922ecfaec8e9c5abdc5c1e0b365afc1bff32bd71d984845c588483de3ab3837f246da7ccf3314af99e9a921657bb9caa05cc0110f99ecaa53b3a7e860e15bba07380c639a132ba96d551d38792be05a1eb5622f116d1515fe3cd5d720e7a13a089ea4322b6ff3918552645764096549a9fc1268b');
         const holds = (data) => crypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-512' }, key, signature, bytes(data));
         return [shared, await holds('hello'), await holds('hallo')];",
    );
    let secret = "fce3ab5cc307f9681341fc2d900cfea625d5127deca83b443fefdd793110696c";
    assert_eq!(found, format!("[\"{secret}\",true,false]"));
}

#[test]
fn every_curve_makes_keys_that_sign_and_share() {
    let found = said(
        "const found = [];
         for (const namedCurve of ['P-256', 'P-384', 'P-521']) {
           const signing = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve }, true, ['sign', 'verify']);
           const hashed = { name: 'ECDSA', hash: 'SHA-512' };
           const signature = await crypto.subtle.sign(hashed, signing.privateKey, bytes('hello'));
           found.push(signature.byteLength, await crypto.subtle.verify(hashed, signing.publicKey, signature, bytes('hello')));
         }
         for (const algorithm of [{ name: 'ECDH', namedCurve: 'P-521' }, { name: 'X25519' }]) {
           const [ann, ben] = [await crypto.subtle.generateKey(algorithm, true, ['deriveBits']), await crypto.subtle.generateKey(algorithm, true, ['deriveBits'])];
           const again = await crypto.subtle.importKey('jwk', await crypto.subtle.exportKey('jwk', ben.publicKey), algorithm, true, []);
           const shared = async (mine, theirs) => hex(await crypto.subtle.deriveBits({ name: algorithm.name, public: theirs }, mine, 256));
           found.push((await shared(ann.privateKey, again)) === (await shared(ben.privateKey, ann.publicKey)));
         }
         return found;",
    );
    assert_eq!(found, "[64,true,96,true,132,true,true,true]");
}
