//! The network's answers, against those of another engine and of each other.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use thunderhead_model::{Classifier, Kernel, Settings, gallery};

type Probabilities = BTreeMap<&'static str, Vec<f32>>;

/// What a kernel answers to drawings of the gallery.
struct Answers {
    fused_convolutions: usize,
    probabilities: Probabilities,
}

/// The answers of a kernel, which takes seconds, so the tests share them.
fn answers(kernel: Kernel) -> &'static Answers {
    static ANSWERS: [OnceLock<Answers>; Kernel::ALL.len()] =
        [const { OnceLock::new() }; Kernel::ALL.len()];
    let at = Kernel::ALL.iter().position(|known| *known == kernel).expect("all kernels are listed");
    ANSWERS[at].get_or_init(|| {
        let classifier = load(kernel, 1);
        // tract is not optimised here, and takes a second for a drawing.
        let count = if kernel == Kernel::Tract { 4 } else { gallery::ALL.len() };
        let answer = |drawing: &gallery::Drawing| {
            (drawing.name, classifier.probabilities(&drawing.png()).expect("an answer"))
        };
        Answers {
            fused_convolutions: classifier.info().fused_convolutions,
            probabilities: gallery::ALL[..count].iter().map(answer).collect(),
        }
    })
}

/// What ONNX Runtime answers, recorded by `benches/peers/record.py`: per drawing, the classes
/// with a probability above a hundred-thousandth. The others are zero here.
fn recorded(classes: usize) -> BTreeMap<String, Vec<f32>> {
    let recorded: BTreeMap<String, BTreeMap<usize, f32>> =
        serde_json::from_str(include_str!("../data/recorded.json")).expect("the recording is JSON");
    let whole = |(name, some): (String, BTreeMap<usize, f32>)| {
        let mut probabilities = vec![0.0; classes];
        some.into_iter().for_each(|(class, probability)| probabilities[class] = probability);
        (name, probabilities)
    };
    recorded.into_iter().map(whole).collect()
}

fn load(kernel: Kernel, threads: usize) -> Classifier {
    let settings = Settings { kernel: Some(kernel), threads, ..Settings::default() };
    Classifier::load(settings, &mut |_| ()).expect("the model loads")
}

fn available() -> impl Iterator<Item = Kernel> {
    Kernel::ALL.into_iter().filter(|kernel| kernel.is_available())
}

fn best(probabilities: &[f32]) -> usize {
    (0..probabilities.len())
        .max_by(|&a, &b| probabilities[a].total_cmp(&probabilities[b]))
        .expect("there are classes")
}

fn largest_difference(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn every_kernel_agrees_with_onnx_runtime() {
    for kernel in available() {
        let answers = answers(kernel);
        let fused = if kernel == Kernel::Tract { 0 } else { 53 };
        assert_eq!(answers.fused_convolutions, fused, "{kernel:?}");
        for (&name, found) in &answers.probabilities {
            let expected = &recorded(found.len())[name];
            if kernel.is_bf16() {
                assert_eq!(best(found), best(expected), "{kernel:?}, {name}");
            } else {
                let difference = largest_difference(found, expected);
                assert!(difference <= 1e-4, "{kernel:?}, {name}: {difference}");
            }
        }
    }
}

#[test]
fn bf16_is_near_f32_on_the_whole_gallery() {
    for kernel in available().filter(|kernel| kernel.is_bf16()) {
        let found = &answers(kernel).probabilities;
        let differences: Vec<f32> = found
            .iter()
            .map(|(&name, found)| {
                let exact = &recorded(found.len())[name];
                (exact[best(exact)] - found[best(exact)]).abs()
            })
            .collect();
        assert_eq!(differences.len(), gallery::ALL.len());
        let mean = differences.iter().sum::<f32>() / differences.len() as f32;
        assert!(mean <= 0.01, "{kernel:?}: {mean}");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let kernel = Kernel::ALL.into_iter().find(|kernel| kernel.is_available()).expect("a kernel");
    let png = gallery::ALL[0].png();
    let one = load(kernel, 1).probabilities(&png).expect("an answer");
    let two = load(kernel, 2).probabilities(&png).expect("an answer");
    assert_eq!(one, two);
}

#[test]
fn the_best_label_of_every_drawing_is_its_subject() {
    let classifier = Classifier::load(Settings::default(), &mut |_| ()).expect("the model loads");
    for drawing in gallery::ALL {
        let labels = classifier.classify(&drawing.png()).expect("an answer");
        assert_eq!(labels.len(), 5);
        assert_eq!(labels[0].label, drawing.label);
        assert!(labels.is_sorted_by(|a, b| a.score >= b.score));
    }
}

#[test]
fn threads_share_one_classifier() {
    let classifier = Classifier::load(Settings::default(), &mut |_| ()).expect("the model loads");
    std::thread::scope(|scope| {
        for drawing in &gallery::ALL[..4] {
            let classifier = &classifier;
            scope.spawn(move || {
                for _ in 0..3 {
                    let labels = classifier.classify(&drawing.png()).expect("an answer");
                    assert_eq!(labels[0].label, drawing.label);
                }
            });
        }
    });
}
