//! The inner loop over a full strip: 14 pixels by two registers of 16 channels.
//!
//! It is assembly because the compiler would keep a pointer for each of the 14 pixels, of which
//! there are more than registers, and then run at half the speed. Pixels at equal distances need
//! two pointers and three multiples of the distance.

/// One pixel: broadcast its value, multiply with both registers of weights, add to its sums.
macro_rules! pixel {
    ($broadcast:literal, $multiply:literal, $left:literal, $right:literal, $address:literal) => {
        concat!(
            $broadcast,
            " zmm30, dword ptr ",
            $address,
            "\n",
            $multiply,
            " zmm",
            $left,
            ", zmm30, zmm28\n",
            $multiply,
            " zmm",
            $right,
            ", zmm30, zmm29\n",
        )
    };
}

/// Adds `$count` rows of weights times the pixels to `$sums`, a `[[__m512; 2]; 14]`.
///
/// `$pixels` and `$weights` are advanced; a row of weights is 64 bytes at `$weights` and 64 more
/// `$right` bytes after it, the next row follows `$row` bytes later, and each row meets the next
/// four bytes of every pixel. `$stride` is the distance between pixels in bytes, `$half` that from
/// the first to the eighth. Each row also fetches the line at `$ahead` into the cache.
macro_rules! fourteen_pixels {
    ($broadcast:literal, $multiply:literal, $right:literal, $row:literal,
     $sums:ident, $pixels:ident, $weights:ident, $ahead:ident, $stride:expr, $half:expr,
     $count:expr) => {{
        let stride: usize = $stride;
        let [[s0, s1], [s2, s3], [s4, s5], [s6, s7], [s8, s9], [s10, s11], [s12, s13],
             [s14, s15], [s16, s17], [s18, s19], [s20, s21], [s22, s23], [s24, s25], [s26, s27]] =
            &mut $sums;
        std::arch::asm!(
            "2:",
            "vmovups zmm28, zmmword ptr [{weights}]",
            concat!("vmovups zmm29, zmmword ptr [{weights} + ", $right, "]"),
            $crate::kernel::fourteen::pixel!($broadcast, $multiply, "0", "1", "[{a}]"),
            $crate::kernel::fourteen::pixel!($broadcast, $multiply, "2", "3", "[{a} + {x1}]"),
            $crate::kernel::fourteen::pixel!($broadcast, $multiply, "4", "5", "[{a} + 2*{x1}]"),
            $crate::kernel::fourteen::pixel!($broadcast, $multiply, "6", "7", "[{a} + {x3}]"),
            $crate::kernel::fourteen::pixel!($broadcast, $multiply, "8", "9", "[{a} + 4*{x1}]"),
            $crate::kernel::fourteen::pixel!($broadcast, $multiply, "10", "11", "[{a} + {x5}]"),
            $crate::kernel::fourteen::pixel!($broadcast, $multiply, "12", "13", "[{a} + 2*{x3}]"),
            $crate::kernel::fourteen::pixel!($broadcast, $multiply, "14", "15", "[{b}]"),
            $crate::kernel::fourteen::pixel!($broadcast, $multiply, "16", "17", "[{b} + {x1}]"),
            $crate::kernel::fourteen::pixel!($broadcast, $multiply, "18", "19", "[{b} + 2*{x1}]"),
            $crate::kernel::fourteen::pixel!($broadcast, $multiply, "20", "21", "[{b} + {x3}]"),
            $crate::kernel::fourteen::pixel!($broadcast, $multiply, "22", "23", "[{b} + 4*{x1}]"),
            $crate::kernel::fourteen::pixel!($broadcast, $multiply, "24", "25", "[{b} + {x5}]"),
            $crate::kernel::fourteen::pixel!($broadcast, $multiply, "26", "27", "[{b} + 2*{x3}]"),
            "prefetcht1 [{ahead}]",
            "add {ahead}, 64",
            "add {a}, 4",
            "add {b}, 4",
            concat!("add {weights}, ", $row),
            "dec {count}",
            "jnz 2b",
            a = inout(reg) $pixels,
            b = inout(reg) $pixels.wrapping_byte_add($half) => _,
            ahead = inout(reg) $ahead,
            weights = inout(reg) $weights,
            count = inout(reg) $count => _,
            x1 = in(reg) stride, x3 = in(reg) 3 * stride, x5 = in(reg) 5 * stride,
            inout("zmm0") *s0, inout("zmm1") *s1, inout("zmm2") *s2, inout("zmm3") *s3,
            inout("zmm4") *s4, inout("zmm5") *s5, inout("zmm6") *s6, inout("zmm7") *s7,
            inout("zmm8") *s8, inout("zmm9") *s9, inout("zmm10") *s10, inout("zmm11") *s11,
            inout("zmm12") *s12, inout("zmm13") *s13, inout("zmm14") *s14, inout("zmm15") *s15,
            inout("zmm16") *s16, inout("zmm17") *s17, inout("zmm18") *s18, inout("zmm19") *s19,
            inout("zmm20") *s20, inout("zmm21") *s21, inout("zmm22") *s22, inout("zmm23") *s23,
            inout("zmm24") *s24, inout("zmm25") *s25, inout("zmm26") *s26, inout("zmm27") *s27,
            out("zmm28") _, out("zmm29") _, out("zmm30") _,
            options(nostack, readonly),
        );
    }};
}

pub(super) use {fourteen_pixels, pixel};
