//! What a seed stands for: what goes wrong in the network and with the server, and when.

use std::time::Duration;

use thunderhead_serve::Commits;
use thunderhead_sim::Rng;

/// How many clients put, get and delete. One more hears of changes.
pub const CLIENTS: usize = 3;
/// After so long nothing goes wrong any more.
pub const STORM: Duration = Duration::from_secs(6);
/// The longest that something is wrong.
const LONGEST_MS: u32 = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing gets through, in both directions.
    Partition,
    /// What the client sends is lost, and what the server sends arrives.
    Deaf,
    /// What the server sends is lost, and what the client sends arrives.
    Mute,
    /// Packets are held back and arrive together in the end.
    Hold,
    /// Packets take this long.
    Late(Duration),
    /// The server crashes, and starts again when this is over. It may wait for a request to be on its way.
    Bounce { waits: bool },
}

/// Something that goes wrong.
#[derive(Clone, Copy, Debug)]
pub struct Trouble {
    pub from: Duration,
    pub until: Duration,
    /// On the way between this client and the server.
    pub client: usize,
    pub fault: Fault,
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    pub commits: Commits,
    pub troubles: Vec<Trouble>,
}

impl Plan {
    pub fn of_seed(seed: u64) -> Plan {
        let mut rng = Rng::new(seed).fork("plan");
        let commits = if rng.below(5) < 2 { Commits::EachEvent } else { Commits::Together };
        let count = 4 + rng.below(5);
        let troubles = (0..count).map(|_| Trouble::draw(&mut rng)).collect();
        Plan { seed, commits, troubles }
    }
}

impl Trouble {
    fn draw(rng: &mut Rng) -> Trouble {
        let lasts = 50 + rng.below(LONGEST_MS - 50);
        let most = u32::try_from(STORM.as_millis()).expect("a storm is short") - lasts;
        let from = Duration::from_millis(rng.below(most).into());
        let fault = match rng.below(10) {
            0 => Fault::Partition,
            1 => Fault::Deaf,
            2 => Fault::Mute,
            3 | 4 => Fault::Hold,
            5 | 6 => Fault::Late(Duration::from_millis((300 + rng.below(2_700)).into())),
            _ => Fault::Bounce { waits: rng.below(3) > 0 },
        };
        let client = rng.below(CLIENTS as u32 + 1) as usize;
        Trouble { from, until: from + Duration::from_millis(lasts.into()), client, fault }
    }
}
