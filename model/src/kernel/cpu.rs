//! What this processor can do.
#![expect(unsafe_code, reason = "asks the operating system for the use of the tile registers")]

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::sync::LazyLock;

    pub(crate) fn has_avx2() -> bool {
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
    }

    pub(crate) fn has_avx512() -> bool {
        has_avx2() && is_x86_feature_detected!("avx512f")
    }

    pub(crate) fn has_avx512_bf16() -> bool {
        has_avx512()
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512bf16")
    }

    /// The tile registers are there and the operating system has agreed to keep them for us.
    pub(crate) fn has_amx_bf16() -> bool {
        static GRANTED: LazyLock<bool> =
            LazyLock::new(|| has_avx512_bf16() && cpuid_has_amx_bf16() && request_tiles());
        *GRANTED
    }

    fn cpuid_has_amx_bf16() -> bool {
        const BF16: u32 = 1 << 22;
        const TILES: u32 = 1 << 24;
        let highest = std::arch::x86_64::__cpuid(0).eax;
        let features = std::arch::x86_64::__cpuid_count(7, 0).edx;
        highest >= 7 && features & BF16 != 0 && features & TILES != 0
    }

    #[cfg(target_os = "linux")]
    fn request_tiles() -> bool {
        const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
        const TILE_DATA: libc::c_long = 18;
        // SAFETY: asks for a permission of this process and writes to no memory of ours.
        unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, TILE_DATA) == 0 }
    }

    #[cfg(not(target_os = "linux"))]
    fn request_tiles() -> bool {
        false
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{has_amx_bf16, has_avx2, has_avx512, has_avx512_bf16};

#[cfg(not(target_arch = "x86_64"))]
mod other {
    pub(crate) fn has_avx2() -> bool {
        false
    }
    pub(crate) use has_avx2 as has_avx512;
    pub(crate) use has_avx2 as has_avx512_bf16;
    pub(crate) use has_avx2 as has_amx_bf16;
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use other::{has_amx_bf16, has_avx2, has_avx512, has_avx512_bf16};
