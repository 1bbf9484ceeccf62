//! Time, randomness, logs, texts and addresses.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::function::Opt;
use rquickjs::{ArrayBuffer, Ctx, Exception, Function, Object, Result, Value};
use thunderhead_sim::EPOCH_MS;
use url::Url;

use super::convert::{body, global_scope, text};
use crate::host::Host;

const DIGITS: &[u8; 16] = b"0123456789abcdef";

pub fn install<'js>(ctx: &Ctx<'js>, host: &Rc<Host>, natives: &Object<'js>) -> Result<()> {
    world(ctx, host, natives)?;
    texts(ctx, natives)?;
    addresses(ctx, natives)
}

fn world<'js>(ctx: &Ctx<'js>, host: &Rc<Host>, natives: &Object<'js>) -> Result<()> {
    let this = host.clone();
    // While a program boots, the clock stands at zero, as on the platform.
    let now = move || this.env().map_or(0.0, |env| env.now().unix_ms() as f64);
    natives.set("now", Function::new(ctx.clone(), now)?)?;
    natives.set("epoch", EPOCH_MS as f64)?;
    let this = host.clone();
    let unique =
        move |ctx: Ctx<'js>| this.env().map(|env| env.unique()).ok_or_else(|| global_scope(&ctx));
    natives.set("unique", Function::new(ctx.clone(), unique)?)?;
    let this = host.clone();
    let local = move || this.local.get();
    natives.set("local", Function::new(ctx.clone(), local)?)?;
    let this = host.clone();
    let home = move || this.running.borrow().as_ref().map(|pump| pump.home.place.clone());
    natives.set("home", Function::new(ctx.clone(), home)?)?;
    let this = host.clone();
    let number = move |last: u32| {
        this.running.borrow().as_ref().map_or(last + 1, |pump| pump.home.number(last))
    };
    natives.set("number", Function::new(ctx.clone(), number)?)?;
    let this = host.clone();
    let invocation = move || this.running.borrow().as_ref().map_or(0, |pump| pump.invocation);
    natives.set("invocation", Function::new(ctx.clone(), invocation)?)?;
    let this = host.clone();
    let booting = move || this.env().is_none();
    natives.set("booting", Function::new(ctx.clone(), booting)?)?;
    let this = host.clone();
    let log = move |line: String| this.env().into_iter().for_each(|env| env.log(&*line));
    natives.set("log", Function::new(ctx.clone(), log)?)
}

fn texts<'js>(ctx: &Ctx<'js>, natives: &Object<'js>) -> Result<()> {
    let encode = |ctx: Ctx<'js>, text: String| ArrayBuffer::new_copy(ctx, text.as_bytes());
    natives.set("encode", Function::new(ctx.clone(), encode)?)?;
    let decode = |ctx: Ctx<'js>, bytes: ArrayBuffer<'js>, fatal: bool| -> Result<String> {
        let bytes = body(&bytes);
        match (bytes.text(), fatal) {
            (Some(text), _) => Ok(text.into()),
            (None, false) => Ok(String::from_utf8_lossy(bytes.bytes()).into_owned()),
            (None, true) => Err(Exception::throw_type(&ctx, "Failed to decode input.")),
        }
    };
    natives.set("decode", Function::new(ctx.clone(), decode)?)?;
    let to_hex = |bytes: ArrayBuffer<'js>| {
        let byte =
            |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from(DIGITS[usize::from(digit)]));
        body(&bytes).bytes().iter().flat_map(byte).collect::<String>()
    };
    natives.set("toHex", Function::new(ctx.clone(), to_hex)?)?;
    let from_hex = |ctx: Ctx<'js>, digits: String| ArrayBuffer::new_copy(ctx, of_digits(&digits));
    natives.set("fromHex", Function::new(ctx.clone(), from_hex)?)?;
    // The simulator writes bytes as their text if they are one, and a sum as its digits.
    let sum = |ctx: Ctx<'js>, written: String| {
        let is_digit = |byte: &u8| DIGITS.contains(byte);
        let is_sum = written.len().is_multiple_of(2) && written.as_bytes().iter().all(is_digit);
        let bytes = if is_sum { of_digits(&written) } else { written.into_bytes() };
        ArrayBuffer::new_copy(ctx, bytes)
    };
    natives.set("sum", Function::new(ctx.clone(), sum)?)
}

/// The bytes that digits stand for. What is no digit counts as 0.
fn of_digits(digits: &str) -> Vec<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
    let pairs = digits.as_bytes().chunks_exact(2);
    pairs.map(|two| digit(two[0]) << 4 | digit(two[1])).collect()
}

thread_local! {
    /// The address that was parsed last: a request asks for its parts one after the other.
    static LAST: RefCell<Option<Url>> = const { RefCell::new(None) };
}

/// Reads an address that may have been parsed just before.
fn read<R>(href: &str, read: impl FnOnce(&Url) -> R) -> Option<R> {
    LAST.with_borrow_mut(|last| {
        if last.as_ref().is_none_or(|last| last.as_str() != href) {
            *last = Some(Url::parse(href).ok()?);
        }
        last.as_ref().map(read)
    })
}

fn addresses<'js>(ctx: &Ctx<'js>, natives: &Object<'js>) -> Result<()> {
    let href = |ctx: Ctx<'js>, href: String, base: Opt<Value<'js>>| -> Result<Option<String>> {
        let base = text(&ctx, base.0)?;
        let joined = |base: String| Url::parse(&base).and_then(|base| base.join(&href)).ok();
        Ok(match base {
            Some(base) => joined(base).map(String::from),
            None => read(&href, |url| url.as_str().into()),
        })
    };
    natives.set("hrefOf", Function::new(ctx.clone(), href)?)?;
    let of = |href: String, at: u32| read(&href, |url| part(url, at)).flatten();
    natives.set("urlPart", Function::new(ctx.clone(), of)?)?;
    let change = |href: String, part: String, value: String| -> Option<String> {
        let mut url = Url::parse(&href).ok()?;
        change(&mut url, &part, &value)?;
        Some(url.into())
    };
    natives.set("changeUrl", Function::new(ctx.clone(), change)?)
}

/// A part of an address, by its number in the prelude.
fn part(url: &Url, at: u32) -> Option<String> {
    let hostname = url.host_str().unwrap_or_default();
    let marked = |mark: char, part: Option<&str>| match part {
        Some(part) if !part.is_empty() => format!("{mark}{part}"),
        _ => String::new(),
    };
    Some(match at {
        0 => url.as_str().into(),
        1 => format!("{}:", url.scheme()),
        2 => url.port().map_or_else(|| hostname.into(), |port| format!("{hostname}:{port}")),
        3 => hostname.into(),
        4 => url.port().map(|port| port.to_string()).unwrap_or_default(),
        5 => url.path().into(),
        6 => marked('?', url.query()),
        7 => marked('#', url.fragment()),
        8 => url.origin().ascii_serialization(),
        9 => url.username().into(),
        10 => url.password().unwrap_or_default().into(),
        _ => return None,
    })
}

/// Changes one part; a value that does not fit leaves the address as it is.
fn change(url: &mut Url, part: &str, value: &str) -> Option<()> {
    let rest = |mark: char| {
        Some(value.strip_prefix(mark).unwrap_or(value)).filter(|rest| !rest.is_empty())
    };
    match part {
        "protocol" => url.set_scheme(value.trim_end_matches(':')).ok()?,
        "hostname" => url.set_host(Some(value)).ok()?,
        "host" => {
            let (host, port) = value.split_once(':').unwrap_or((value, ""));
            url.set_host(Some(host)).ok()?;
            if !port.is_empty() {
                url.set_port(Some(port.parse().ok()?)).ok()?;
            }
        }
        "port" => url.set_port(value.parse().ok()).ok()?,
        "pathname" => url.set_path(value),
        "search" => url.set_query(rest('?')),
        "hash" => url.set_fragment(rest('#')),
        "username" => url.set_username(value).ok()?,
        "password" => url.set_password(Some(value)).ok()?,
        _ => return None,
    }
    Some(())
}
