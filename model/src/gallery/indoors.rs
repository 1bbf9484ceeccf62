//! Subjects found in a house.

use super::canvas::{BLACK, Canvas, Colour, HOURS, WHITE, mix, towards};

pub(super) fn clock(canvas: &mut Canvas) {
    let centre = (128.0, 128.0);
    canvas.shade([214, 205, 190], [188, 178, 160]);
    canvas.disc((132.0, 134.0), 100.0, [150, 140, 124]);
    canvas.disc(centre, 100.0, [40, 38, 42]);
    canvas.disc(centre, 90.0, WHITE);
    for (hour, &direction) in HOURS.iter().enumerate() {
        let (inner, width) = if hour % 3 == 0 { (66.0, 6.0) } else { (74.0, 3.5) };
        let from = towards(centre, direction, inner);
        canvas.line(from, towards(centre, direction, 83.0), width, BLACK);
    }
    canvas.line(centre, towards(centre, HOURS[7], 48.0), 7.0, BLACK);
    canvas.line(centre, towards(centre, HOURS[11], 70.0), 5.0, BLACK);
    canvas.line(
        towards(centre, HOURS[3], -16.0),
        towards(centre, HOURS[3], 74.0),
        2.0,
        [190, 30, 30],
    );
    canvas.disc(centre, 6.0, BLACK);
}

pub(super) fn crossword(canvas: &mut Canvas) {
    const ROWS: [&str; 13] = [
        "....#....#...",
        "....#....#...",
        ".........#...",
        "###...#......",
        "...#....#....",
        ".....#...#...",
        "...#.....#...",
        "...#...#.....",
        "....#....#...",
        "......#...###",
        "...#.........",
        "...#....#....",
        "...#....#....",
    ];
    canvas.fill([245, 243, 236]);
    let (origin, cell) = (11.0, 18.0);
    canvas.rectangle((9.0, 9.0), (247.0, 247.0), BLACK);
    for (y, row) in ROWS.iter().enumerate() {
        for (x, square) in row.bytes().enumerate() {
            if square == b'#' {
                continue;
            }
            let (left, top) = (origin + x as f32 * cell, origin + y as f32 * cell);
            canvas.rectangle((left + 0.7, top + 0.7), (left + cell - 0.7, top + cell - 0.7), WHITE);
            let starts = x == 0 || y == 0 || row.as_bytes()[x - 1] == b'#';
            if starts {
                canvas.rectangle((left + 2.5, top + 2.5), (left + 4.0, top + 6.0), [60, 60, 60]);
                canvas.rectangle((left + 5.0, top + 2.5), (left + 7.5, top + 6.0), [90, 90, 90]);
            }
        }
    }
}

pub(super) fn digital_clock(canvas: &mut Canvas) {
    canvas.shade([92, 66, 46], [60, 42, 30]);
    canvas.rounded((18.0, 70.0), (238.0, 190.0), 16.0, [22, 22, 24]);
    canvas.rounded((30.0, 82.0), (226.0, 178.0), 6.0, [8, 4, 4]);
    const LIT: [&str; 4] = ["bc", "abged", "acdfg", "abcdg"];
    let red: Colour = [255, 40, 24];
    for (lit, left) in LIT.iter().zip([38.0, 82.0, 138.0, 182.0]) {
        let (right, top, middle, bottom) = (left + 34.0, 96.0, 130.0, 164.0);
        for segment in lit.bytes() {
            let (from, to) = match segment {
                b'a' => ((left + 5.0, top), (right - 5.0, top)),
                b'b' => ((right, top + 5.0), (right, middle - 5.0)),
                b'c' => ((right, middle + 5.0), (right, bottom - 5.0)),
                b'd' => ((left + 5.0, bottom), (right - 5.0, bottom)),
                b'e' => ((left, middle + 5.0), (left, bottom - 5.0)),
                b'f' => ((left, top + 5.0), (left, middle - 5.0)),
                _ => ((left + 5.0, middle), (right - 5.0, middle)),
            };
            canvas.line(from, to, 7.0, red);
        }
    }
    canvas.disc((127.0, 116.0), 4.5, red);
    canvas.disc((127.0, 146.0), 4.5, red);
}

pub(super) fn envelope(canvas: &mut Canvas) {
    canvas.shade([120, 84, 56], [96, 66, 44]);
    canvas.rectangle((26.0, 66.0), (236.0, 200.0), [70, 48, 32]);
    canvas.rectangle((22.0, 60.0), (232.0, 194.0), [238, 232, 216]);
    let fold = [196, 188, 168];
    canvas.line((22.0, 194.0), (104.0, 120.0), 2.0, fold);
    canvas.line((232.0, 194.0), (150.0, 120.0), 2.0, fold);
    canvas.polygon(&[(22.0, 60.0), (232.0, 60.0), (127.0, 142.0)], [228, 221, 203]);
    canvas.line((22.0, 60.0), (127.0, 142.0), 2.5, fold);
    canvas.line((232.0, 60.0), (127.0, 142.0), 2.5, fold);
}

pub(super) fn candle(canvas: &mut Canvas) {
    canvas.paint(|x, y| {
        let (dx, dy) = (x - 128.0, y - 86.0);
        let glow = 1.0 - ((dx * dx + dy * dy).sqrt() / 150.0).min(1.0);
        Some(mix([14, 8, 6], [150, 84, 24], glow * glow))
    });
    canvas.paint(|x, y| {
        (x > 98.0 && x < 158.0 && y > 132.0).then(|| {
            let shade = ((x - 128.0).abs() / 30.0).powi(2);
            mix(mix([255, 226, 170], [214, 160, 92], shade), [150, 96, 50], (y - 132.0) / 200.0)
        })
    });
    canvas.ellipse((128.0, 132.0), (30.0, 8.0), [255, 236, 190]);
    canvas.line((128.0, 132.0), (128.0, 114.0), 3.0, [40, 24, 16]);
    canvas.ellipse((128.0, 96.0), (13.0, 26.0), [255, 170, 40]);
    canvas.polygon(&[(117.0, 86.0), (139.0, 86.0), (128.0, 48.0)], [255, 170, 40]);
    canvas.ellipse((128.0, 102.0), (8.0, 17.0), [255, 246, 200]);
}

pub(super) fn web_site(canvas: &mut Canvas) {
    canvas.fill(WHITE);
    canvas.rectangle((0.0, 0.0), (256.0, 30.0), [40, 84, 150]);
    canvas.rectangle((10.0, 8.0), (70.0, 22.0), WHITE);
    for item in 0..5 {
        let x = 104.0 + item as f32 * 30.0;
        canvas.rectangle((x, 12.0), (x + 22.0, 18.0), [200, 214, 236]);
    }
    canvas.rectangle((8.0, 38.0), (64.0, 248.0), [236, 240, 246]);
    for item in 0..14 {
        let y = 46.0 + item as f32 * 14.0;
        canvas.rectangle((14.0, y), (44.0 + (item * 7 % 14) as f32, y + 4.0), [60, 90, 170]);
    }
    canvas.rectangle((74.0, 40.0), (190.0, 100.0), [150, 190, 220]);
    canvas.polygon(
        &[(74.0, 100.0), (110.0, 60.0), (140.0, 90.0), (160.0, 70.0), (190.0, 100.0)],
        [70, 120, 70],
    );
    for row in 0..15 {
        let y = 110.0 + row as f32 * 9.0;
        let right = 150.0 + (row * 23 % 40) as f32;
        canvas.rectangle((74.0, y), (right, y + 3.0), [90, 90, 96]);
    }
    for block in 0..3 {
        let y = 40.0 + block as f32 * 70.0;
        canvas.rectangle((198.0, y), (250.0, y + 60.0), [244, 226, 180]);
        canvas.rectangle((198.0, y), (250.0, y + 10.0), [210, 120, 40]);
        for row in 0..4 {
            let top = y + 18.0 + row as f32 * 10.0;
            canvas.rectangle((203.0, top), (244.0, top + 3.0), [110, 90, 60]);
        }
    }
}

pub(super) fn remote_control(canvas: &mut Canvas) {
    canvas.shade([216, 206, 190], [190, 178, 160]);
    canvas.rounded((90.0, 12.0), (172.0, 250.0), 14.0, [120, 112, 100]);
    canvas.rounded((86.0, 8.0), (168.0, 246.0), 14.0, [26, 27, 30]);
    canvas.disc((102.0, 26.0), 6.0, [210, 30, 30]);
    for row in 0..4 {
        for column in 0..3 {
            let (x, y) = (100.0 + column as f32 * 19.0, 46.0 + row as f32 * 17.0);
            canvas.rounded((x, y), (x + 15.0, y + 11.0), 3.0, [190, 192, 196]);
        }
    }
    canvas.ring((127.0, 146.0), 27.0, 15.0, [90, 92, 98]);
    canvas.disc((127.0, 146.0), 10.0, [170, 172, 178]);
    for row in 0..3 {
        for column in 0..3 {
            let (x, y) = (100.0 + column as f32 * 19.0, 184.0 + row as f32 * 17.0);
            let colour = if row == 2 { [60, 90, 190] } else { [150, 152, 158] };
            canvas.rounded((x, y), (x + 15.0, y + 9.0), 4.0, colour);
        }
    }
}

pub(super) fn sunglasses(canvas: &mut Canvas) {
    canvas.shade([240, 236, 228], [222, 214, 200]);
    canvas.ellipse((132.0, 176.0), (110.0, 12.0), [200, 190, 174]);
    for x in [72.0, 184.0] {
        canvas.rounded((x - 50.0, 88.0), (x + 50.0, 168.0), 34.0, [18, 16, 18]);
        canvas.paint(|px, py| {
            let (dx, dy) = ((px - x) / 42.0, (py - 128.0) / 32.0);
            (dx.powi(4) + dy.powi(4) <= 1.0)
                .then(|| mix([92, 84, 96], [26, 22, 30], (py - 96.0) / 60.0))
        });
        canvas.line((x - 24.0, 108.0), (x - 10.0, 106.0), 4.0, [190, 190, 200]);
    }
    canvas.line((114.0, 108.0), (142.0, 108.0), 9.0, [18, 16, 18]);
    canvas.line((24.0, 104.0), (8.0, 84.0), 7.0, [18, 16, 18]);
    canvas.line((232.0, 104.0), (248.0, 84.0), 7.0, [18, 16, 18]);
}

pub(super) fn hourglass(canvas: &mut Canvas) {
    canvas.shade([226, 220, 210], [196, 186, 170]);
    let wood = [112, 66, 32];
    let glass = [206, 222, 226];
    canvas.polygon(
        &[
            (78.0, 34.0),
            (178.0, 34.0),
            (172.0, 84.0),
            (132.0, 128.0),
            (172.0, 172.0),
            (178.0, 222.0),
            (78.0, 222.0),
            (84.0, 172.0),
            (124.0, 128.0),
            (84.0, 84.0),
        ],
        glass,
    );
    let sand = [214, 160, 84];
    canvas.polygon(&[(92.0, 78.0), (164.0, 78.0), (129.0, 122.0), (127.0, 122.0)], sand);
    canvas.rectangle((127.0, 120.0), (129.5, 200.0), sand);
    canvas.polygon(
        &[(84.0, 218.0), (172.0, 218.0), (160.0, 196.0), (128.0, 178.0), (96.0, 196.0)],
        sand,
    );
    for x in [64.0, 184.0] {
        canvas.rectangle((x, 30.0), (x + 8.0, 226.0), wood);
    }
    canvas.rounded((54.0, 16.0), (202.0, 36.0), 5.0, wood);
    canvas.rounded((54.0, 220.0), (202.0, 240.0), 5.0, wood);
    canvas.rectangle((54.0, 22.0), (202.0, 25.0), [150, 96, 52]);
}
