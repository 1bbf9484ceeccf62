//! Subjects found outside.

use super::canvas::{Canvas, Colour, HOURS, WHITE, mix, towards};

pub(super) fn traffic_light(canvas: &mut Canvas) {
    canvas.shade([120, 170, 220], [200, 220, 235]);
    canvas.rectangle((120.0, 200.0), (136.0, 256.0), [70, 72, 74]);
    canvas.rounded((84.0, 22.0), (172.0, 214.0), 14.0, [28, 30, 30]);
    canvas.rounded((90.0, 28.0), (166.0, 208.0), 10.0, [44, 46, 46]);
    let lamps: [(f32, Colour, Colour); 3] = [
        (60.0, [255, 120, 100], [225, 20, 15]),
        (118.0, [92, 76, 20], [60, 50, 14]),
        (176.0, [20, 70, 40], [12, 48, 28]),
    ];
    for (y, light, dark) in lamps {
        canvas.disc((128.0, y), 26.0, [14, 15, 15]);
        canvas.ball((128.0, y), (22.0, 22.0), light, dark);
    }
}

pub(super) fn street_sign(canvas: &mut Canvas) {
    canvas.shade([110, 165, 225], [190, 215, 240]);
    canvas.rectangle((122.0, 60.0), (134.0, 256.0), [130, 134, 138]);
    for (top, left, right) in [(52.0, 20.0, 236.0), (110.0, 44.0, 216.0)] {
        canvas.rounded((left, top), (right, top + 46.0), 5.0, WHITE);
        canvas.rounded((left + 3.0, top + 3.0), (right - 3.0, top + 43.0), 4.0, [0, 104, 62]);
        let mut x = left + 18.0;
        while x + 14.0 < right - 14.0 {
            canvas.line((x, top + 12.0), (x, top + 34.0), 4.0, WHITE);
            canvas.line((x, top + 12.0), (x + 9.0, top + 12.0), 4.0, WHITE);
            canvas.line((x, top + 23.0), (x + 8.0, top + 23.0), 4.0, WHITE);
            canvas.line((x + 9.0, top + 12.0), (x + 9.0, top + 34.0), 4.0, WHITE);
            x += 20.0;
        }
    }
}

pub(super) fn balloon(canvas: &mut Canvas) {
    canvas.shade([90, 150, 225], [190, 218, 245]);
    canvas.paint(|x, y| {
        let (dx, dy) = ((x - 128.0) / 78.0, (y - 96.0) / 82.0);
        (dx * dx + dy * dy <= 1.0).then(|| {
            let width = (1.0 - dy * dy).max(0.01).sqrt();
            let stripe = (((dx / width + 1.0) * 4.0) as usize).min(7);
            let colours: [Colour; 4] =
                [[214, 40, 40], [247, 190, 40], [36, 110, 190], [250, 246, 236]];
            mix(colours[stripe % 4], [60, 20, 30], ((dx + dy) * 0.35).max(0.0))
        })
    });
    canvas.polygon(&[(84.0, 163.0), (172.0, 163.0), (144.0, 196.0), (112.0, 196.0)], [190, 40, 40]);
    for x in [114.0, 142.0] {
        canvas.line((x, 196.0), (x, 216.0), 1.5, [60, 50, 40]);
    }
    canvas.rectangle((112.0, 214.0), (144.0, 236.0), [120, 78, 40]);
}

pub(super) fn spider_web(canvas: &mut Canvas) {
    canvas.shade([18, 30, 20], [34, 48, 32]);
    let centre = (128.0, 124.0);
    let silk = [222, 226, 226];
    for &direction in &HOURS {
        canvas.line(centre, towards(centre, direction, 180.0), 1.4, silk);
    }
    for ring in 1..13 {
        let radius = 9.0 * ring as f32 + 0.35 * (ring * ring) as f32;
        for (index, &direction) in HOURS.iter().enumerate() {
            let next = HOURS[(index + 1) % 12];
            let from = towards(centre, direction, radius);
            let to = towards(centre, next, radius);
            let sag = ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0);
            let sag = (sag.0 + (centre.0 - sag.0) * 0.07, sag.1 + (centre.1 - sag.1) * 0.07);
            canvas.line(from, sag, 1.1, silk);
            canvas.line(sag, to, 1.1, silk);
        }
    }
}

pub(super) fn umbrella(canvas: &mut Canvas) {
    canvas.shade([176, 190, 200], [140, 150, 158]);
    canvas.line((128.0, 40.0), (128.0, 214.0), 5.0, [60, 40, 28]);
    canvas.paint(|x, y| {
        let (dx, dy) = (x - 112.0, y - 212.0);
        let square = dx * dx + dy * dy;
        let hook = (13.0f32 * 13.0..=18.5 * 18.5).contains(&square) && dy > 0.0;
        hook.then_some([60, 40, 28])
    });
    canvas.paint(|x, y| {
        let (dx, dy) = (x - 128.0, y - 134.0);
        let dome = dx * dx / (104.0 * 104.0) + dy * dy / (94.0 * 94.0) <= 1.0 && y < 134.0;
        let scallop = [-78.0f32, -26.0, 26.0, 78.0].iter().any(|&middle| {
            let (sx, sy) = ((x - 128.0 - middle) / 26.0, (y - 136.0) / 14.0);
            sx * sx + sy * sy <= 1.0
        });
        (dome && !scallop).then(|| {
            let height = (1.0 - (dy / 94.0).powi(2)).max(0.02).sqrt();
            let panel = ((dx / (104.0 * height) + 1.0) * 2.0) as usize;
            if panel.is_multiple_of(2) { [196, 24, 36] } else { [164, 14, 28] }
        })
    });
    canvas.line((128.0, 30.0), (128.0, 42.0), 4.0, [60, 40, 28]);
}

pub(super) fn maze(canvas: &mut Canvas) {
    canvas.shade([96, 140, 70], [84, 126, 60]);
    let hedge = [30, 74, 26];
    let path = [206, 190, 150];
    canvas.rectangle((10.0, 10.0), (246.0, 246.0), path);
    for ring in 0..7 {
        let inset = 10.0 + ring as f32 * 17.0;
        let (low, high) = (inset, 256.0 - inset);
        for (from, to) in [
            ((low, low), (high, low)),
            ((low, high), (high, high)),
            ((low, low), (low, high)),
            ((high, low), (high, high)),
        ] {
            canvas.line(from, to, 8.0, hedge);
        }
        let gap = 40.0 + (ring * 53 % 90) as f32;
        let (x, y) = (low + (gap % (high - low - 20.0).max(1.0)) + 10.0, low);
        canvas.rectangle((x - 7.0, y - 5.0), (x + 7.0, y + 5.0), path);
    }
}

pub(super) fn honeycomb(canvas: &mut Canvas) {
    canvas.shade([232, 160, 40], [200, 120, 20]);
    for row in -1..13 {
        for column in -1..12 {
            let shift = if row % 2 == 0 { 0.0 } else { 12.0 };
            let centre = (column as f32 * 24.0 + shift + 6.0, row as f32 * 21.0 + 4.0);
            let corner = |dx: f32, dy: f32| (centre.0 + dx, centre.1 + dy);
            canvas.polygon(
                &[
                    corner(0.0, -12.0),
                    corner(10.4, -6.0),
                    corner(10.4, 6.0),
                    corner(0.0, 12.0),
                    corner(-10.4, 6.0),
                    corner(-10.4, -6.0),
                ],
                [120, 66, 10],
            );
            canvas.polygon(
                &[
                    corner(0.0, -8.0),
                    corner(8.4, -3.0),
                    corner(8.4, 7.0),
                    corner(0.0, 11.0),
                    corner(-8.4, 7.0),
                    corner(-8.4, -3.0),
                ],
                if (row * 5 + column * 3) % 4 == 0 { [226, 150, 30] } else { [84, 44, 8] },
            );
        }
    }
}
