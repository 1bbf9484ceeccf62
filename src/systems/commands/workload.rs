//! What is asked of the system: groups that check out, guests who come again or are unknown, a front
//! desk and an operator who help, and people who ask how things stand.

use serde_json::json;
use thunderhead_sim::{ClientRequest, Rng, Time};

/// Guests who are in the house from the start; the fourth may not leave, because of the bill.
const GUESTS: [&str; 5] = ["ann", "bob", "cid", "dan", "eve"];
/// Unknown guests: a command about one fails however often it is tried. Commands of a group are in
/// the order of names, so one comes before those of all others and one behind.
const STRANGERS: [&str; 2] = ["abe", "zed"];
const GAPS_MS: [u64; 5] = [0, 3, 40, 700, 8_000];

/// One to three groups of one to three guests, and what goes around them.
pub fn workload(rng: &mut Rng) -> Vec<ClientRequest> {
    let mut requests = Vec::new();
    let mut at = 0;
    let mut free: Vec<&str> = GUESTS.to_vec();
    for number in 0..1 + rng.below(3) {
        at += GAPS_MS[rng.below(GAPS_MS.len() as u32) as usize];
        let mut guests: Vec<&str> = Vec::new();
        for _ in 0..1 + rng.below(3) {
            if !free.is_empty() {
                guests.push(free.remove(rng.below(free.len() as u32) as usize));
            }
        }
        if rng.chance(200) {
            guests.push(STRANGERS[rng.below(2) as usize]);
        }
        if guests.is_empty() {
            break;
        }
        let group = format!("g{number}");
        requests.push(start(at, &group, &guests));
        around(rng, at, &group, &guests, &mut requests);
    }
    requests
}

/// What may happen around a group.
fn around(rng: &mut Rng, at: u64, group: &str, guests: &[&str], requests: &mut Vec<ClientRequest>) {
    let later = |rng: &mut Rng| at + [1, 300, 5_000, 20_000][rng.below(4) as usize];
    if let Some(stranger) = STRANGERS.iter().find(|name| guests.contains(name))
        && rng.chance(600)
    {
        // In time, or when the command has been set aside; then an operator has to know.
        let repaired = if rng.chance(512) { later(rng) } else { at + 400_000 };
        requests.push(come(repaired, stranger, 900));
        requests.push(post(repaired + 10_000, "/operator/unpark"));
    }
    if rng.chance(200) {
        let again = later(rng);
        let guest = guests[rng.below(guests.len() as u32) as usize];
        requests.push(come(again, guest, 50));
        if rng.chance(512) {
            requests.push(start(again + 10_000, &format!("{group}-again"), &[guest]));
        }
    }
    if rng.chance(100) {
        let guest = guests[rng.below(guests.len() as u32) as usize];
        let told = if rng.chance(512) { "left" } else { "stays" };
        requests.push(post(later(rng), &format!("/groups/{group}/guests/{guest}/{told}")));
    }
    if rng.chance(300) {
        requests.push(ask(later(rng), &format!("/groups/{group}")));
    }
    if rng.chance(300) {
        let path = match rng.below(4) {
            0 => format!("/groups/{group}/pending"),
            1 => "/pending".to_string(),
            2 => "/pending?limit=1".to_string(),
            _ => format!("/pending?after={group}:3&limit=2"),
        };
        requests.push(ask(later(rng), &path));
    }
    if rng.chance(50) {
        requests.push(ask(later(rng), "/operator/parked"));
    }
}

/// The smallest workload: a group of two, which gives two commands.
pub fn smallest() -> Vec<ClientRequest> {
    vec![start(0, "g0", &["ann", "bob"])]
}

fn start(at: u64, group: &str, guests: &[&str]) -> ClientRequest {
    let body = json!({ "guests": guests }).to_string();
    ClientRequest::new(Time::from_ms(at), "POST", &format!("/groups/{group}"), body).retried(2)
}

fn come(at: u64, guest: &str, owed: u32) -> ClientRequest {
    let body = json!({ "owed": owed }).to_string();
    ClientRequest::new(Time::from_ms(at), "POST", &format!("/guests/{guest}"), body).retried(2)
}

fn post(at: u64, path: &str) -> ClientRequest {
    ClientRequest::new(Time::from_ms(at), "POST", path, "").retried(2)
}

fn ask(at: u64, path: &str) -> ClientRequest {
    ClientRequest::new(Time::from_ms(at), "GET", path, "").retried(1)
}
