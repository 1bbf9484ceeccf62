//! How long each system is searched: as long as a test may take.

use thunderhead_sim::FaultSet;

/// How long a system is searched, and what the search must reach.
pub struct Bounds {
    /// In how many storms of a minute each variant that must hold is tried; `weather` has several times as many of its
    /// own.
    pub storms: u32,
    /// Within how many seeds each kind of search refutes each variant that must be refuted.
    pub refuted_within: u64,
    /// The most deviations that are left when such a failure has been shrunk.
    pub deviations_max: usize,
    /// The most faults of which the story of such a failure tells.
    pub faults_max: usize,
    /// How many of these failures cannot be told as a script without a tape.
    pub untold_max: usize,
    /// Within how many seeds every `sometimes` is met.
    pub met_within: u64,
    /// How many deviations are enumerated on the smallest workload: of all faults, and of crashes alone.
    pub enumerated: [usize; 2],
    /// With how many deviations the reduced enumeration of the smallest workload is compared with the full one.
    pub compared: usize,
    /// The least number of runs that each enumeration has; fewer mean that something is off.
    pub enumerated_least: u64,
}

/// What a system gets that has no line in [`of`].
const USUAL: Bounds = Bounds {
    storms: 2_500,
    refuted_within: 400,
    deviations_max: 3,
    faults_max: 3,
    untold_max: 0,
    met_within: 1_000,
    enumerated: [1, 1],
    compared: 1,
    enumerated_least: 10,
};

/// The bounds of the system of that name.
pub fn of(system: &str) -> Bounds {
    match system {
        "relay" => Bounds {
            storms: 2_000,
            refuted_within: 1_000,
            met_within: 200,
            enumerated: [2, 4],
            compared: 2,
            enumerated_least: 1_000,
            ..USUAL
        },
        "uploads" => Bounds { storms: 1_500, deviations_max: 6, ..USUAL },
        "generations" => Bounds { met_within: 2_000, compared: 2, ..USUAL },
        "comparisons" => Bounds { met_within: 300, ..USUAL },
        // How many processors there are is a matter of deviations too, so a history may need a few more.
        // That number is the application's own randomness, which no fault of a script stands for.
        "commands" => Bounds { deviations_max: 6, faults_max: 4, untold_max: 1, ..USUAL },
        _ => USUAL,
    }
}

/// Bounds of an enumeration: of all faults so many deviations, and of crashes alone so many if they are more, because
/// all faults include the crashes.
/// `ENUMERATE_DEVIATIONS=3` asks for more of all faults, which takes an hour or two in a release build.
pub fn enumerated(all: usize, crashes: usize) -> Vec<(FaultSet, usize)> {
    let all = (FaultSet::explored(), asked(all));
    let more = (crashes > all.1).then_some((FaultSet::crashes(), crashes));
    std::iter::once(all).chain(more).collect()
}

/// The number of deviations that `ENUMERATE_DEVIATIONS` asks for, or the usual one.
pub fn asked(usual: usize) -> usize {
    let asked = std::env::var("ENUMERATE_DEVIATIONS").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(usual)
}
