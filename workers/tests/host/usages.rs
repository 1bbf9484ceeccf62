//! What keys may be used for, and what is told of one that is used for something else. Every answer is one that the
//! runtime gave to the same text.

use crate::support::value;

/// What the lines of a piece of JavaScript came to, with `s` for `crypto.subtle`.
fn told(lines: &[&str]) -> String {
    let lines =
        lines.iter().map(|line| format!("await told(async () => {line})")).collect::<Vec<_>>();
    value(&format!(
        "(async () => {{
           const s = crypto.subtle; const e = (text) => new TextEncoder().encode(text); const hmac = {{ name: 'HMAC', hash: 'SHA-256' }};
           const told = async (work) => {{ try {{ const value = await work(); return value instanceof CryptoKey ? 'key' : value ?? 'none'; }} catch ({{ name, message }}) {{ return `${{name}}: ${{message}}`; }} }};
           return [{}];
         }})()",
        lines.join(",\n")
    ))
}

fn list(texts: &[&str]) -> String {
    format!("[{}]", texts.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>().join(","))
}

#[test]
fn a_key_is_made_for_what_its_algorithm_does() {
    let said = told(&[
        "s.importKey('raw', e('k'), hmac, false, ['encrypt'])",
        "s.importKey('raw', e('k'), hmac, false, [])",
        "s.importKey('raw', new Uint8Array(16), 'AES-GCM', false, ['sign'])",
        "s.importKey('raw', e('k'), 'PBKDF2', true, ['deriveBits'])",
        "s.generateKey({ name: 'AES-GCM', length: 128 }, true, ['sign'])",
        "s.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['verify'])",
        "(await s.generateKey(hmac, true, ['verify', 'sign', 'sign'])).usages.join()",
    ]);
    let expected = [
        r#"SyntaxError: Attempt to import secret HMAC key with invalid usage "encrypt"."#,
        "SyntaxError: Secret/private CryptoKeys must have at least one usage.",
        r#"SyntaxError: Attempt to import secret AES-GCM key with invalid usage "sign"."#,
        "SyntaxError: PBKDF2 key cannot be extractable.",
        r#"SyntaxError: Attempt to generate AES-GCM key with invalid usage "sign"."#,
        "SyntaxError: Attempt to generate asymmetric keys with no valid private key usages.",
        "sign,verify",
    ];
    assert_eq!(said, list(&expected));
}

#[test]
fn a_key_is_used_for_what_it_was_made_for() {
    let said = told(&[
        "s.sign('HMAC', await s.importKey('raw', e('k'), hmac, false, ['verify']), e('a'))",
        "s.verify('HMAC', await s.importKey('raw', e('k'), hmac, false, ['sign']), e('a'), e('a'))",
        "s.verify('HMAC', await s.importKey('raw', e('k'), hmac, false, ['verify']), e('a'), e('a'))",
        "s.encrypt({ name: 'AES-GCM', iv: new Uint8Array(12) }, await s.importKey('raw', new Uint8Array(16), 'AES-GCM', false, ['decrypt']), e('a'))",
        "s.deriveBits({ name: 'PBKDF2', hash: 'SHA-256', salt: e('a'), iterations: 1 }, await s.importKey('raw', e('k'), 'PBKDF2', false, ['deriveKey']), 128)",
        "s.sign('ECDSA', await s.importKey('raw', e('k'), hmac, false, ['sign']), e('a'))",
    ]);
    let no = |usage: &str| {
        format!(
            r#"InvalidAccessError: Requested key usage "{usage}" does not match any usage listed in this CryptoKey."#
        )
    };
    let expected = [
        &*no("sign"),
        &no("verify"),
        "false",
        &no("encrypt"),
        &no("deriveBits"),
        r#"InvalidAccessError: Requested algorithm "ECDSA" does not match this CryptoKey's algorithm "HMAC"."#,
    ];
    assert_eq!(said, list(&expected).replace("\"false\"", "false"));
}

#[test]
fn a_digest_has_to_be_named_and_known() {
    let said = told(&[
        "s.importKey('raw', e('k'), { name: 'HMAC' }, false, ['sign'])",
        "s.importKey('raw', e('k'), 'HMAC', false, ['sign'])",
        "s.importKey('raw', e('k'), { name: 'HMAC', hash: 'FOO' }, false, ['sign'])",
        "s.digest('FOO', e('a'))",
        "s.timingSafeEqual(e('a'), e('ab'))",
    ]);
    let (missing, unknown) = (
        r#"TypeError: Missing field "hash" in "algorithm"."#,
        "NotSupportedError: Unrecognized or unimplemented digest algorithm requested.",
    );
    let expected = [
        missing,
        missing,
        unknown,
        unknown,
        "TypeError: Input buffers must have the same byte length.",
    ];
    assert_eq!(said, list(&expected));
}

#[test]
fn a_json_web_key_says_what_it_is_for() {
    let said = told(&[
        "(await s.exportKey('jwk', await s.generateKey(hmac, true, ['sign']))).alg",
        "(await s.exportKey('jwk', await s.generateKey({ name: 'AES-GCM', length: 256 }, true, ['encrypt']))).alg",
        "(await s.exportKey('jwk', await s.generateKey({ name: 'AES-KW', length: 128 }, true, ['wrapKey']))).alg",
        "(await s.exportKey('jwk', (await s.generateKey('Ed25519', true, ['sign'])).publicKey)).alg",
        "(await s.exportKey('jwk', (await s.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign'])).publicKey)).alg",
        "s.importKey('jwk', { kty: 'oct', k: 'aa', alg: 'HS512' }, hmac, true, ['sign'])",
    ]);
    let expected = [
        "HS256",
        "A256GCM",
        "A128KW",
        "EdDSA",
        "none",
        r#"DataError: HMAC "jwk" key import specifies "alg" that is incompatible with the hash name (encountered "HS512", expected "HS256")."#,
    ];
    assert_eq!(said, list(&expected));
}
