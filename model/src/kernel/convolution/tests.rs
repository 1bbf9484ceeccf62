//! Every kernel of this machine against a convolution written out.

use rayon::ThreadPoolBuilder;

use super::*;
use crate::kernel::layout::from_bf16;

/// A convolution to try.
#[derive(Clone, Copy, Debug)]
struct Case {
    side: usize,
    ins: usize,
    outs: usize,
    window: Window,
    border: usize,
    residual: bool,
    relu: bool,
}

fn window(size: usize, stride: usize) -> Window {
    Window { height: size, width: size, stride, padding: size / 2 }
}

/// Values between -1 and 1 that are exact in bf16, from a fixed sequence.
fn values(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as f32 / 128.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn store(buffer: &mut Buffer, element: Element, at: usize, value: f32) {
    match element {
        Element::F32 => buffer.view_mut::<f32>()[at] = value,
        Element::Bf16 => buffer.view_mut::<u16>()[at] = to_bf16(value),
    }
}

fn load(buffer: &Buffer, element: Element, at: usize) -> f32 {
    match element {
        Element::F32 => buffer.view::<f32>()[at],
        Element::Bf16 => from_bf16(buffer.view::<u16>()[at]),
    }
}

/// An activation of some values, channel by channel.
fn activation(layout: Layout, channels: usize, values: &[f32]) -> Buffer {
    let mut buffer = Buffer::zeroed(layout.len() * layout.element.bytes());
    for (index, &value) in values.iter().enumerate() {
        let (channel, pixel) = (index % channels, index / channels);
        let at = layout.pixel(pixel / layout.width, pixel % layout.width) + channel;
        store(&mut buffer, layout.element, at, value);
    }
    buffer
}

fn check(kernel: Kernel, case: Case, threads: usize) {
    let Case { side, ins, outs, window, .. } = case;
    let element = kernel.element();
    let stored = if element == Element::Bf16 && ins < 32 { 4 } else { ins };
    let out_side = (side + 2 * window.padding - window.height) / window.stride + 1;
    let square =
        |side, channels, border| Layout { element, height: side, width: side, channels, border };
    let source = square(side, stored, window.padding);
    let target = square(out_side, outs, case.border);
    let inputs = values(side * side * ins, 1);
    let weights = values(outs * ins * window.height * window.width, 2);
    let bias = values(outs, 3);
    let residuals = values(out_side * out_side * outs, 4);
    let mut slab = Slab::new(1 << 20);
    let convolution =
        Convolution::new(kernel, window, (source, target), &weights, &bias, case.relu, &mut slab);
    let residual = activation(target, outs, &residuals);
    let mut result = Buffer::zeroed(target.len() * element.bytes());
    let residual = match case.residual {
        false => Residual::None,
        true if threads == 1 => Residual::Beside(&residual),
        true => {
            result = activation(target, outs, &residuals);
            Residual::InTarget
        }
    };
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let pool = (threads > 1).then_some(&pool);
    convolution.run(&activation(source, ins, &inputs), residual, &mut result, pool);
    for y in 0..out_side {
        for x in 0..out_side {
            for out in 0..outs {
                let mut sum = bias[out];
                for (tap_y, tap_x) in
                    (0..window.height).flat_map(|y| (0..window.width).map(move |x| (y, x)))
                {
                    let row = (y * window.stride + tap_y).wrapping_sub(window.padding);
                    let column = (x * window.stride + tap_x).wrapping_sub(window.padding);
                    if row >= side || column >= side {
                        continue;
                    }
                    for channel in 0..ins {
                        let weight =
                            ((out * ins + channel) * window.height + tap_y) * window.width + tap_x;
                        sum += inputs[(row * side + column) * ins + channel] * weights[weight];
                    }
                }
                if case.residual {
                    sum += residuals[(y * out_side + x) * outs + out];
                }
                let expected = if case.relu { sum.max(0.0) } else { sum };
                let found = load(&result, element, target.pixel(y, x) + out);
                let tolerance =
                    expected.abs() * if kernel.is_bf16() { 1.0 / 200.0 } else { 1e-5 } + 1e-3;
                assert!(
                    (found - expected).abs() <= tolerance,
                    "{kernel:?} {case:?} on {threads} threads at {y}, {x}, {out}: {found} is not {expected}"
                );
            }
        }
    }
    let border: Vec<f32> = (0..target.len())
        .filter(|at| {
            let (y, x) = (at / outs / target.pitch(), at / outs % target.pitch());
            let inside = case.border..case.border + out_side;
            !inside.contains(&y) || !inside.contains(&x)
        })
        .map(|at| load(&result, element, at))
        .collect();
    assert!(border.iter().all(|&value| value == 0.0), "the border stays zero");
}

#[test]
fn all_kernels_compute_all_shapes_of_the_network() {
    let plain = Case {
        side: 14,
        ins: 64,
        outs: 64,
        window: window(1, 1),
        border: 0,
        residual: false,
        relu: true,
    };
    let cases = [
        plain,
        Case { border: 1, ..plain },
        Case { residual: true, ..plain },
        Case { relu: false, residual: true, side: 7, ..plain },
        Case { window: window(3, 1), ..plain },
        Case { window: window(3, 1), side: 7, ins: 32, ..plain },
        Case { window: window(3, 1), side: 30, outs: 32, ..plain },
        Case { window: window(3, 2), ..plain },
        Case { window: window(1, 2), ..plain },
        Case { window: window(7, 2), side: 40, ins: 3, border: 1, ..plain },
        Case { side: 6, ..plain },
        Case { side: 1, ins: 96, outs: 1024, relu: false, ..plain },
    ];
    for kernel in Kernel::ALL.into_iter().filter(|k| *k != Kernel::Tract && k.is_available()) {
        for case in cases {
            for threads in [1, 2, 3] {
                check(kernel, case, threads);
            }
        }
    }
}
