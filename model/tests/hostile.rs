//! Any bytes give an answer or a typed error, within the memory limit.
#![allow(unsafe_code, reason = "counts what is allocated, which only an allocator can see")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Cursor;

use image::{ImageFormat, RgbImage};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use thunderhead_model::{Classifier, ImageError, Limits, Settings, decode};

thread_local! {
    /// Bytes held now and at most, on this thread.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

struct Counting;

fn count(change: isize) {
    // A thread that is ending may allocate when its locals are gone; nothing is measured then.
    let _ = HELD.try_with(|held| {
        let now = held.get().0 + change;
        held.set((now, held.get().1.max(now)));
    });
}

// SAFETY: passes every request on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes held at once during a call, beyond those held before it.
fn most_held<T>(call: impl FnOnce() -> T) -> (T, u64) {
    let before = HELD.get().0;
    HELD.set((before, before));
    let result = call();
    (result, (HELD.get().1 - before) as u64)
}

fn samples() -> Vec<Vec<u8>> {
    let photos =
        [include_bytes!("data/cmyk.jpg").to_vec(), include_bytes!("data/turned.jpg").to_vec()];
    photos.into_iter().chain(thunderhead_pictures::samples()).collect()
}

/// One way of spoiling a file.
#[derive(Debug, Clone)]
enum Mutation {
    Set(Index, u8),
    /// Near the beginning, where the headers are.
    SetHeader(Index, u8),
    Flip(Index, u8),
    Truncate(Index),
    Insert(Index, Vec<u8>),
    Repeat(Index, Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, value)| Mutation::Set(at, value)),
        (any::<Index>(), any::<u8>()).prop_map(|(at, value)| Mutation::SetHeader(at, value)),
        (any::<Index>(), 0..8u8).prop_map(|(at, bit)| Mutation::Flip(at, bit)),
        any::<Index>().prop_map(Mutation::Truncate),
        (any::<Index>(), vec(any::<u8>(), 1..16))
            .prop_map(|(at, bytes)| Mutation::Insert(at, bytes)),
        (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Mutation::Repeat(from, to)),
    ]
}

fn mutate(content: &mut Vec<u8>, mutation: &Mutation) {
    if content.is_empty() {
        return;
    }
    let length = content.len();
    match mutation {
        Mutation::Set(at, value) => content[at.index(length)] = *value,
        Mutation::SetHeader(at, value) => content[at.index(length.min(64))] = *value,
        Mutation::Flip(at, bit) => content[at.index(length)] ^= 1 << bit,
        Mutation::Truncate(at) => content.truncate(at.index(length)),
        Mutation::Insert(at, bytes) => {
            let at = at.index(length);
            content.splice(at..at, bytes.iter().copied());
        }
        Mutation::Repeat(from, to) => {
            let (from, to) = (from.index(length), to.index(length));
            let piece = content[from.min(to)..from.max(to)].to_vec();
            content.extend(piece);
        }
    }
}

const LIMITS: Limits = Limits { pixels: 2_000_000, memory: 8 << 20 };
/// What a decoder holds whatever the image: tables, buffers and its copy of the content.
const CONSTANT: u64 = 1 << 20;

fn check(content: &[u8]) -> Result<(), TestCaseError> {
    let (result, held) = most_held(|| decode(content, LIMITS));
    prop_assert!(
        held <= LIMITS.memory + CONSTANT + 4 * content.len() as u64,
        "{held} bytes held for {:?}",
        result.map(|picture| picture.dimensions())
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn spoilt_files_never_panic_nor_exceed_the_memory_limit(
        sample in any::<Index>(),
        mutations in vec(mutation(), 1..6),
    ) {
        thread_local!(static SAMPLES: Vec<Vec<u8>> = samples());
        let mut content = SAMPLES.with(|samples| sample.get(samples).clone());
        mutations.iter().for_each(|mutation| mutate(&mut content, mutation));
        check(&content)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(content in vec(any::<u8>(), 0..400)) {
        check(&content)?;
    }
}

/// A PNG with a colour profile that unpacks to many times its size.
fn png_with_a_large_profile() -> Vec<u8> {
    let mut profile = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut profile, &vec![0; 64 << 20]).expect("memory");
    let mut chunk = b"iCCPname\0\0".to_vec();
    chunk.extend(profile.finish().expect("memory"));
    let mut checksum = flate2::Crc::new();
    checksum.update(&chunk);
    let mut file = Cursor::new(Vec::new());
    RgbImage::new(8, 8).write_to(&mut file, ImageFormat::Png).expect("memory");
    let mut png = file.into_inner();
    let length = (chunk.len() as u32 - 4).to_be_bytes();
    // After the signature and the header.
    png.splice(33..33, [&length[..], &chunk, &checksum.sum().to_be_bytes()].concat());
    png
}

#[test]
fn a_colour_profile_that_unpacks_to_much_takes_no_memory() {
    let png = png_with_a_large_profile();
    let (decoded, held) = most_held(|| decode(&png, LIMITS));
    decoded.expect("a picture");
    assert!(held <= CONSTANT + 4 * png.len() as u64, "{held} bytes held");
}

/// A JPEG whose header says that it is progressive and has so many pixels.
fn progressive(width: u16, height: u16) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    RgbImage::new(8, 8).write_to(&mut file, ImageFormat::Jpeg).expect("memory");
    let mut jpeg = file.into_inner();
    let frame = jpeg.windows(2).position(|pair| pair == [0xff, 0xc0]).expect("a frame");
    jpeg[frame + 1] = 0xc2;
    jpeg[frame + 5..frame + 7].copy_from_slice(&height.to_be_bytes());
    jpeg[frame + 7..frame + 9].copy_from_slice(&width.to_be_bytes());
    jpeg
}

#[test]
fn a_progressive_jpeg_holds_what_its_header_was_judged_by() {
    let jpeg = progressive(2_000, 1_000);
    // Nine bytes for each pixel, and the rows that are decoded at a time.
    let nine_bytes = Limits { pixels: 2_000_000, memory: 2_000_000 * 9 + 2_000 * 192 };
    let (decoded, held) = most_held(|| decode(&jpeg, nine_bytes));
    assert!(!matches!(decoded, Err(ImageError::TooLarge { .. })), "{:?}", decoded.err());
    assert!(held <= nine_bytes.memory + CONSTANT, "{held} bytes held");
    assert!(held > 2_000_000 * 6, "only {held} bytes held: was it decoded as progressive?");
}

/// A progressive JPEG whose only scan, of the first coefficients, is there so many times.
fn scanned(width: u16, height: u16, scans: usize) -> Vec<u8> {
    let mut jpeg = progressive(width, height);
    let start = jpeg.windows(2).rposition(|pair| pair == [0xff, 0xda]).expect("a scan");
    let header = 2 + usize::from(u16::from_be_bytes([jpeg[start + 2], jpeg[start + 3]]));
    // Its last bytes say which coefficients it has: the first alone, with all their bits.
    jpeg[start + header - 3..start + header].fill(0);
    let end = jpeg.split_off(jpeg.len() - 2);
    let scan = jpeg.split_off(start);
    [jpeg, scan.repeat(scans), end].concat()
}

#[test]
fn the_scans_of_a_jpeg_are_judged_by_how_many_pixels_they_visit() {
    let decoded =
        |scans| decode(&scanned(2_000, 1_000, scans), Limits { memory: 64 << 20, ..LIMITS });
    assert!(!matches!(decoded(12), Err(ImageError::TooLarge { .. })), "{:?}", decoded(12).err());
    let refused = decoded(13).expect_err("too many scans");
    let said = "the image is too large: its 2000000 pixels are visited by 13 scans";
    assert_eq!(refused.to_string(), said);
    assert!(!matches!(decode(&scanned(200, 100, 99), LIMITS), Err(ImageError::TooLarge { .. })));
}

/// A JPEG with three components whose header says that it measures this, with so many samples across and down.
fn sampled(width: u16, height: u16, samples: [u8; 3]) -> Vec<u8> {
    let mut jpeg = progressive(width, height);
    let frame = jpeg.windows(2).position(|pair| pair == [0xff, 0xc2]).expect("a frame");
    jpeg[frame + 1] = 0xc0;
    for (component, sample) in samples.into_iter().enumerate() {
        jpeg[frame + 11 + 3 * component] = sample;
    }
    jpeg
}

#[test]
fn a_wide_and_low_jpeg_is_judged_by_the_rows_that_are_decoded_at_a_time() {
    // Six megabytes by its pixels, which the limit allows.
    let wide = sampled(43_800, 16, [0x22, 0x11, 0x11]);
    let (decoded, held) = most_held(|| decode(&wide, LIMITS));
    assert!(matches!(decoded, Err(ImageError::TooLarge { .. })), "{held} bytes held");
    let (decoded, held) = most_held(|| decode(&wide, Limits { memory: 32 << 20, ..LIMITS }));
    decoded.expect("a picture");
    assert!(held > LIMITS.memory, "only {held} bytes held: the limit above was not needed");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_shape_of_a_jpeg_is_within_the_memory_limit(
        width in any::<u16>(),
        height in prop_oneof![1..64u16, any::<u16>()],
        samples in [(1..=4u8, 1..=4u8), (1..=4u8, 1..=4u8), (1..=4u8, 1..=4u8)],
    ) {
        check(&sampled(width, height, samples.map(|(across, down)| across << 4 | down)))?;
    }
}

#[test]
fn whatever_can_be_decoded_gets_labels() {
    let classifier = Classifier::load(Settings::default(), &mut |_| ()).expect("the model loads");
    for content in samples() {
        let labels = classifier.classify(&content).expect("an answer");
        assert!(labels.iter().all(|label| (0.0..=1.0).contains(&label.score)));
    }
}
