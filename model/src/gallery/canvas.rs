//! A square to draw on, in units of its final pixels, smoothed by drawing it larger.

use image::{Rgb, RgbImage};

/// The side of the finished picture.
const SIDE: u32 = 256;
/// How much larger it is drawn, each way.
const FINENESS: u32 = 4;

/// A colour as red, green, blue.
pub(super) type Colour = [u8; 3];
/// A point as x from the left, y from the top.
pub(super) type Point = (f32, f32);

pub(super) const WHITE: Colour = [250, 250, 248];
pub(super) const BLACK: Colour = [15, 15, 18];

/// The twelve hours as directions from the centre of a dial, from three o'clock on.
pub(super) const HOURS: [Point; 12] = [
    (1.0, 0.0),
    (0.866, 0.5),
    (0.5, 0.866),
    (0.0, 1.0),
    (-0.5, 0.866),
    (-0.866, 0.5),
    (-1.0, 0.0),
    (-0.866, -0.5),
    (-0.5, -0.866),
    (0.0, -1.0),
    (0.5, -0.866),
    (0.866, -0.5),
];

/// The point at a distance from another, in a direction.
pub(super) fn towards(centre: Point, direction: Point, distance: f32) -> Point {
    (centre.0 + direction.0 * distance, centre.1 + direction.1 * distance)
}

pub(super) struct Canvas {
    fine: RgbImage,
}

impl Canvas {
    pub(super) fn new() -> Canvas {
        Canvas { fine: RgbImage::new(SIDE * FINENESS, SIDE * FINENESS) }
    }

    /// Averages the fine pixels under each final one.
    pub(super) fn finish(self) -> RgbImage {
        RgbImage::from_fn(SIDE, SIDE, |x, y| {
            let mut sum = [0u32; 3];
            for fine_y in y * FINENESS..(y + 1) * FINENESS {
                for fine_x in x * FINENESS..(x + 1) * FINENESS {
                    let pixel = self.fine.get_pixel(fine_x, fine_y);
                    sum.iter_mut().zip(pixel.0).for_each(|(sum, value)| *sum += u32::from(value));
                }
            }
            Rgb(sum.map(|sum| (sum / (FINENESS * FINENESS)) as u8))
        })
    }

    /// Colours every point for which the function gives a colour.
    pub(super) fn paint(&mut self, colour_at: impl Fn(f32, f32) -> Option<Colour>) {
        let side = SIDE as f32;
        self.paint_within((0.0, 0.0), (side, side), colour_at);
    }

    /// Colours the points of a rectangle for which the function gives a colour.
    fn paint_within(
        &mut self,
        from: Point,
        to: Point,
        colour_at: impl Fn(f32, f32) -> Option<Colour>,
    ) {
        let fineness = FINENESS as f32;
        let range = |from: f32, to: f32| {
            let bound = |at: f32| (at * fineness).clamp(0.0, (SIDE * FINENESS) as f32) as u32;
            bound(from.floor())..bound(to.ceil())
        };
        for fine_y in range(from.1, to.1) {
            for fine_x in range(from.0, to.0) {
                let x = (fine_x as f32 + 0.5) / fineness;
                let y = (fine_y as f32 + 0.5) / fineness;
                if let Some(colour) = colour_at(x, y) {
                    self.fine.put_pixel(fine_x, fine_y, Rgb(colour));
                }
            }
        }
    }

    pub(super) fn fill(&mut self, colour: Colour) {
        self.paint(|_, _| Some(colour));
    }

    /// A gradient from the top to the bottom.
    pub(super) fn shade(&mut self, top: Colour, bottom: Colour) {
        self.paint(|_, y| Some(mix(top, bottom, y / SIDE as f32)));
    }

    pub(super) fn rectangle(&mut self, from: Point, to: Point, colour: Colour) {
        self.paint_within(from, to, |x, y| {
            (x >= from.0 && x < to.0 && y >= from.1 && y < to.1).then_some(colour)
        });
    }

    /// A rectangle whose corners are rounded by quarter circles.
    pub(super) fn rounded(&mut self, from: Point, to: Point, radius: f32, colour: Colour) {
        self.paint_within(from, to, |x, y| {
            let dx = (from.0 + radius - x).max(x - (to.0 - radius)).max(0.0);
            let dy = (from.1 + radius - y).max(y - (to.1 - radius)).max(0.0);
            (dx * dx + dy * dy <= radius * radius).then_some(colour)
        });
    }

    pub(super) fn disc(&mut self, centre: Point, radius: f32, colour: Colour) {
        self.ellipse(centre, (radius, radius), colour);
    }

    pub(super) fn ellipse(&mut self, centre: Point, radii: (f32, f32), colour: Colour) {
        let (from, to) = around(centre, radii);
        self.paint_within(from, to, |x, y| {
            let (dx, dy) = ((x - centre.0) / radii.0, (y - centre.1) / radii.1);
            (dx * dx + dy * dy <= 1.0).then_some(colour)
        });
    }

    /// A disc lit from the upper left.
    pub(super) fn ball(&mut self, centre: Point, radii: (f32, f32), light: Colour, dark: Colour) {
        let (from, to) = around(centre, radii);
        self.paint_within(from, to, |x, y| {
            let (dx, dy) = ((x - centre.0) / radii.0, (y - centre.1) / radii.1);
            let (lx, ly) = (dx + 0.35, dy + 0.4);
            let shade = ((lx * lx + ly * ly).sqrt() / 1.45).min(1.0);
            (dx * dx + dy * dy <= 1.0).then(|| mix(light, dark, shade * shade))
        });
    }

    pub(super) fn ring(&mut self, centre: Point, outer: f32, inner: f32, colour: Colour) {
        let (from, to) = around(centre, (outer, outer));
        self.paint_within(from, to, |x, y| {
            let (dx, dy) = (x - centre.0, y - centre.1);
            let square = dx * dx + dy * dy;
            (square <= outer * outer && square >= inner * inner).then_some(colour)
        });
    }

    /// A line with round ends.
    pub(super) fn line(&mut self, from: Point, to: Point, width: f32, colour: Colour) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let square = (dx * dx + dy * dy).max(f32::MIN_POSITIVE);
        let (low, high) = bounds(&[from, to], width);
        self.paint_within(low, high, |x, y| {
            let along = (((x - from.0) * dx + (y - from.1) * dy) / square).clamp(0.0, 1.0);
            let (ex, ey) = (x - from.0 - along * dx, y - from.1 - along * dy);
            (ex * ex + ey * ey <= width * width / 4.0).then_some(colour)
        });
    }

    /// The inside of a closed line, by the even-odd rule.
    pub(super) fn polygon(&mut self, corners: &[Point], colour: Colour) {
        let (low, high) = bounds(corners, 0.0);
        self.paint_within(low, high, |x, y| {
            let mut inside = false;
            for (index, &(ax, ay)) in corners.iter().enumerate() {
                let (bx, by) = corners[(index + 1) % corners.len()];
                if (ay > y) != (by > y) && x < (bx - ax) * (y - ay) / (by - ay) + ax {
                    inside = !inside;
                }
            }
            inside.then_some(colour)
        });
    }
}

/// The corners of the rectangle around an ellipse.
fn around(centre: Point, radii: (f32, f32)) -> (Point, Point) {
    bounds(
        &[(centre.0 - radii.0, centre.1 - radii.1), (centre.0 + radii.0, centre.1 + radii.1)],
        0.0,
    )
}

/// The corners of the rectangle around some points, with a margin.
fn bounds(points: &[Point], margin: f32) -> (Point, Point) {
    let infinity = f32::INFINITY;
    points.iter().fold(((infinity, infinity), (-infinity, -infinity)), |(low, high), point| {
        (
            (low.0.min(point.0 - margin), low.1.min(point.1 - margin)),
            (high.0.max(point.0 + margin), high.1.max(point.1 + margin)),
        )
    })
}

/// A colour between two others.
pub(super) fn mix(from: Colour, to: Colour, share: f32) -> Colour {
    let share = share.clamp(0.0, 1.0);
    [0, 1, 2].map(|channel: usize| {
        let (from, to) = (f32::from(from[channel]), f32::from(to[channel]));
        (from + (to - from) * share) as u8
    })
}
