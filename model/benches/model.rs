//! Decoding, preprocessing and inference, apart and together.

use std::hint::black_box;
use std::io::Cursor;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use image::{ImageFormat, load_from_memory};
use thunderhead_model::{Classifier, Kernel, Limits, Settings, decode, gallery};

fn load(kernel: Option<Kernel>, threads: usize) -> Classifier {
    let settings = Settings { kernel, threads, ..Settings::default() };
    Classifier::load(settings, &mut |_| ()).expect("the model loads")
}

/// A drawing enlarged to the size of a photograph, as JPEG.
fn photograph(width: u32, height: u32) -> Vec<u8> {
    let drawing = load_from_memory(&gallery::ALL[0].png()).expect("a drawing is an image");
    let large = drawing.resize_exact(width, height, image::imageops::FilterType::Triangle);
    let mut file = Cursor::new(Vec::new());
    large.write_to(&mut file, ImageFormat::Jpeg).expect("an image can be written as JPEG");
    file.into_inner()
}

fn stages(criterion: &mut Criterion) {
    let classifier = load(None, 1);
    for (width, height) in [(256, 256), (640, 480), (4000, 3000)] {
        let content = photograph(width, height);
        let size = format!("{width}x{height}");
        criterion.bench_with_input(
            BenchmarkId::new("decode", &size),
            &content,
            |bench, content| {
                bench.iter(|| decode(black_box(content), Limits::default()).expect("a picture"));
            },
        );
        let picture = decode(&content, Limits::default()).expect("a picture");
        criterion.bench_with_input(
            BenchmarkId::new("preprocess", &size),
            &picture,
            |bench, picture| {
                bench.iter(|| classifier.preprocess(black_box(picture)).expect("an input"));
            },
        );
        criterion.bench_with_input(
            BenchmarkId::new("together", &size),
            &content,
            |bench, content| {
                bench.iter(|| classifier.classify(black_box(content)).expect("an answer"));
            },
        );
    }
}

fn inference(criterion: &mut Criterion) {
    for kernel in Kernel::ALL.into_iter().filter(|kernel| kernel.is_available()) {
        for threads in [1, 2] {
            let classifier = load(Some(kernel), threads);
            let input = classifier.prepare(&gallery::ALL[0].png()).expect("an input");
            let id = format!("inference/{}/{threads}", kernel.name());
            criterion.bench_function(&id, |bench| {
                bench.iter(|| classifier.infer(black_box(&input)).expect("an answer"));
            });
        }
    }
}

fn loading(criterion: &mut Criterion) {
    for kernel in Kernel::ALL.into_iter().filter(|kernel| kernel.is_available()) {
        criterion.bench_function(&format!("load/{}", kernel.name()), |bench| {
            bench.iter(|| load(Some(kernel), 1));
        });
    }
    // Memory is a matter of the whole process: the peer program reports it, kernel by kernel.
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(4));
    targets = stages, inference, loading
}
criterion_main!(benches);
