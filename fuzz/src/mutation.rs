//! Makes hostile inputs from valid ones, so that most of what comes out is still read, and the mistake is deep inside.

use thunderhead_sim::Rng;

/// Numbers at which something changes, as a text has them.
const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "2",
    "7",
    "255",
    "256",
    "65535",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "-1",
];

/// Texts that break a line, move the cursor, turn the direction, end a string, or stand for much.
const TEXTS: [&str; 20] = [
    "\n",
    "\r",
    "\0",
    "\u{7}",
    "\u{1b}[2J",
    "\u{202e}",
    "\u{2066}",
    "\u{feff}",
    "\u{85}",
    "\"",
    "'",
    "\\",
    "*",
    "**",
    "{",
    "]",
    "#",
    "é",
    "👩\u{200d}👧",
    "1d",
];

/// Numbers at which something changes, as a file has them. Shorter ones are the last bytes of these.
const FIELDS: [u32; 12] =
    [0, 1, 2, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0xffff, 0x1_0000, 0x7fff_ffff, 0xffff_ffff];

/// The first bytes of a file are its header, and are changed most.
const HEADER: u32 = 64;

/// The most bytes that an input grows to.
const LENGTH_MAX: usize = 1 << 20;

/// A text that `seed` makes from the examples; `words` are put in here and there. Words and numbers are moved as a
/// whole.
pub fn text(seed: u64, examples: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let Some(first) = pick(&mut rng, examples) else { return Vec::new() };
    let mut parts = split(first);
    let others = pick(&mut rng, examples).map_or_else(Vec::new, |other| split(other));
    let most = 1 + rng.below(8);
    let changes = 1 + rng.below(most);
    for _ in 0..changes {
        change(&mut rng, &mut parts, &others, words);
    }
    let mut bytes = parts.concat();
    // A few are damaged below the level of words.
    if rng.chance(60) && !bytes.is_empty() {
        let at = rng.below(bytes.len() as u32) as usize;
        if rng.chance(512) { bytes.truncate(at) } else { bytes[at] = rng.below(256) as u8 }
    }
    bytes.truncate(LENGTH_MAX);
    bytes
}

/// A file that `seed` makes from the examples; `words` are names of its parts. Whole numbers are put into its header.
pub fn bytes(seed: u64, examples: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let Some(first) = pick(&mut rng, examples) else { return Vec::new() };
    let mut bytes = first.clone();
    let other = pick(&mut rng, examples).cloned().unwrap_or_default();
    let most = 1 + rng.below(8);
    for _ in 0..=rng.below(most) {
        if bytes.is_empty() {
            break;
        }
        change_bytes(&mut rng, &mut bytes, &other, words);
    }
    bytes.truncate(LENGTH_MAX);
    bytes
}

fn change_bytes(rng: &mut Rng, bytes: &mut Vec<u8>, other: &[u8], words: &[&str]) {
    let length = bytes.len() as u32;
    let within = if rng.chance(600) { length.min(HEADER) } else { length };
    let at = rng.below(within) as usize;
    let to = at + rng.below(length - at as u32 + 1) as usize;
    match rng.below(9) {
        0 => bytes[at] = rng.below(256) as u8,
        1 => bytes[at] ^= 1 << rng.below(8),
        2 | 3 => {
            let number = pick(rng, &FIELDS).copied().unwrap_or_default();
            let field = 1 << rng.below(3);
            if rng.chance(512) {
                put(bytes, at, &number.to_be_bytes()[4 - field..]);
            } else {
                put(bytes, at, &number.to_le_bytes()[..field]);
            }
        }
        4 => {
            let word = pick(rng, words).map_or("", |word| word);
            // In the place of another name, if there is one.
            let known = pick(rng, words).and_then(|known| {
                bytes.windows(known.len().max(1)).position(|part| part == known.as_bytes())
            });
            put(bytes, known.unwrap_or(at), word.as_bytes());
        }
        5 => drop(bytes.drain(at..to.min(at + 16))),
        6 => {
            let part = bytes[at..to].to_vec();
            let times = (1 << rng.below(10)).min(LENGTH_MAX / part.len().max(1));
            bytes.splice(to..to, part.repeat(times));
        }
        7 => {
            let from = rng.below(other.len() as u32 + 1) as usize;
            let until = from + rng.below((other.len() - from) as u32 + 1) as usize;
            bytes.splice(at..to, other[from..until].to_vec());
        }
        _ => bytes.truncate(to.max(1)),
    }
}

/// Writes over what is at a place, as far as the file goes.
fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    for (old, new) in bytes[at..].iter_mut().zip(new) {
        *old = *new;
    }
}

fn pick<'a, T>(rng: &mut Rng, list: &'a [T]) -> Option<&'a T> {
    let length = u32::try_from(list.len()).unwrap_or(u32::MAX);
    (length > 0).then(|| &list[rng.below(length) as usize])
}

fn change(rng: &mut Rng, parts: &mut Vec<Vec<u8>>, others: &[Vec<u8>], words: &[&str]) {
    if parts.is_empty() {
        parts.push(b"x".to_vec());
    }
    let at = rng.below(parts.len() as u32) as usize;
    let to = (at + 1 + rng.below(12) as usize).min(parts.len());
    match rng.below(10) {
        0 => drop(parts.drain(at..to)),
        1 => {
            let copied = parts[at..to].to_vec();
            let place = rng.below(parts.len() as u32 + 1) as usize;
            parts.splice(place..place, copied);
        }
        2 => {
            let times = 1 << rng.below(14);
            let run: Vec<u8> = parts[at..to].concat();
            let times = times.min(LENGTH_MAX / run.len().max(1));
            parts[at] = run.repeat(times);
        }
        3 => {
            let other = rng.below(parts.len() as u32) as usize;
            parts.swap(at, other);
        }
        4 | 5 => {
            let numbers: Vec<usize> = (0..parts.len())
                .filter(|at| parts[*at].first().is_some_and(u8::is_ascii_digit))
                .collect();
            let place = pick(rng, &numbers).copied().unwrap_or(at);
            parts[place] = pick(rng, &NUMBERS).map_or("", |number| number).into();
        }
        6 => parts[at] = pick(rng, words).map_or("", |word| word).into(),
        7 => {
            let text = pick(rng, &TEXTS).map_or("", |text| text);
            let place = rng.below(parts[at].len() as u32 + 1) as usize;
            parts[at].splice(place..place, text.bytes());
        }
        8 => parts[at] = pick(rng, others).cloned().unwrap_or_default(),
        _ => {
            let from = rng.below(others.len() as u32 + 1) as usize;
            let until = (from + rng.below(20) as usize).min(others.len());
            parts.splice(at..to, others[from..until].to_vec());
        }
    }
}

/// Words, numbers, spaces, and every other character by itself.
fn split(bytes: &[u8]) -> Vec<Vec<u8>> {
    let kind = |byte: u8| match byte {
        b'0'..=b'9' => 0,
        b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.. => 1,
        b' ' => 2,
        other => 3 + u16::from(other),
    };
    bytes
        .chunk_by(|one, two| kind(*one) == kind(*two) && kind(*one) < 3)
        .map(<[u8]>::to_vec)
        .collect()
}
