//! What a script and a run may ask for at most, so that each ends in bounded time and memory.
//!
//! Every ceiling is far above honest use: the scripts of this repository have at most ten requests,
//! and their runs take a few thousand steps. `docs/scripts.md` has the same table for users.

use std::time::Duration;

use crate::scenario::ClientRequest;
use crate::values::time::Time;

/// A ceiling, with the words for it in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What is counted, as a script or a message names it.
    pub what: &'static str,
    /// The largest number that is allowed.
    pub most: u64,
}

impl Limit {
    const fn new(what: &'static str, most: u64) -> Limit {
        Limit { what, most }
    }

    /// Whether `number` is within the ceiling.
    pub fn allows(&self, number: usize) -> bool {
        u64::try_from(number).is_ok_and(|number| number <= self.most)
    }
}

/// The size of a script or a failure file.
pub const BYTES: Limit = Limit::new("bytes of a file", 4 << 20);
/// Every time and duration of a script, in days: a hundred years.
pub const DAYS: Limit = Limit::new("days of a time", 36_500);
/// The steps of a run. A step adds about one event to the trace, which is kept in memory.
pub const STEPS: Limit = Limit::new("max_steps", 200_000);
/// The crashes that may be drawn in a run.
pub const CRASHES: Limit = Limit::new("max_crashes", 10_000);
/// The requests of a script.
pub const REQUESTS: Limit = Limit::new("requests", 10_000);
/// How often one request is tried again.
pub const RETRIES: Limit = Limit::new("retries", 10_000);
/// What all requests send, each as often as it may be tried. A history shows it several times.
pub const SENT: Limit = Limit::new("bytes of all requests with their retries", 8 << 20);
/// The faults of a script. Each call is compared with all of them.
pub const FAULTS: Limit = Limit::new("faults", 200);
/// How often one fault strikes, when it does not strike always.
pub const TIMES: Limit = Limit::new("times", 1_000_000);
/// How many calls one fault lets pass first.
pub const SKIP: Limit = Limit::new("skip", 1_000_000);
/// The lines of a tape.
pub const TAPE: Limit = Limit::new("tape", 50_000);
/// The lines of what a script expects.
pub const EXPECT: Limit = Limit::new("expect", 1_000);
/// The bytes of a name, and of the method and the path of a request.
pub const NAME: Limit = Limit::new("bytes of a name or a path", 8_192);
/// The hosts of a run: services, workers, clients, objects and instances of workflows.
pub const HOSTS: Limit = Limit::new("hosts of a run", 20_000);

/// What the rows that a run changes hold, as they were and as they are. A history has both.
pub const ROWS: Limit = Limit::new("bytes of changed rows of a run", 32 << 20);

/// How many bytes these requests send, with all their retries: what [`SENT`] is about.
pub fn sent(requests: &[ClientRequest]) -> u64 {
    let of = |client: &ClientRequest| {
        let headers = client.request.headers.iter().map(|(name, value)| name.len() + value.len());
        let length = client.request.body.len() + client.request.path.len() + headers.sum::<usize>();
        (length as u64).saturating_mul(u64::from(client.retries) + 1)
    };
    requests.iter().map(of).fold(0, u64::saturating_add)
}

/// Every ceiling.
pub const ALL: [Limit; 15] = [
    BYTES, DAYS, STEPS, CRASHES, REQUESTS, RETRIES, SENT, FAULTS, TIMES, SKIP, TAPE, EXPECT, NAME,
    HOSTS, ROWS,
];

/// The longest time or duration that a script may name.
pub const LONGEST: Duration = Duration::from_secs(DAYS.most * 86_400);

/// The last moment at which anything happens in a run: a thousand years after it began.
///
/// Times are added with saturation. A clock that stood at the end of its range would let every pause
/// end at once, and an application that pauses in a loop would never give control back.
pub const LAST_MOMENT: Time = Time::from_ms(1_000 * 365 * 86_400_000);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::script::Script;

    /// A script with one field set to `value`.
    fn refused(field: &str, value: &str) -> Option<String> {
        let of_request = field == "retries";
        let of_fault = field == "times" || field == "skip";
        let own =
            if of_request || of_fault { String::new() } else { format!("{field} = {value}\n") };
        let request = if of_request { format!(", {field} = {value}") } else { String::new() };
        let requests = format!("requests = [{{ fetch = \"GET /\"{request} }}]\n");
        let requests = if field == "requests" { String::new() } else { requests };
        let fault = if of_fault { format!(", {field} = {value}") } else { String::new() };
        let faults = format!("faults = [{{ kind = \"fail\", on = \"r2.put\"{fault} }}]\n");
        let faults = if field == "faults" { String::new() } else { faults };
        let text = format!("story = \"x\"\nsystem = \"relay\"\n{own}{requests}{faults}");
        Script::parse("a.toml", &text).err().map(|error| error.to_string())
    }

    #[test]
    fn a_number_at_its_ceiling_is_read_and_one_above_it_is_refused() {
        for limit in [STEPS, CRASHES, RETRIES, TIMES, SKIP] {
            assert_eq!(refused(limit.what, &limit.most.to_string()), None);
            for above in [limit.most + 1, u64::from(u32::MAX)] {
                let error = refused(limit.what, &above.to_string()).unwrap_or_default();
                assert!(error.contains(&format!("at most {}", limit.most)), "{error}");
            }
        }
    }

    #[test]
    fn a_list_as_long_as_its_ceiling_is_read_and_a_longer_one_is_refused() {
        for (limit, entry) in [
            (REQUESTS, "{ fetch = \"GET /\" }"),
            (FAULTS, "{ kind = \"fail\", on = \"r2.put\" }"),
            (TAPE, "\"crash relay #1 = 1/2\""),
            (EXPECT, "\"always x\""),
        ] {
            let list = |length: u64| format!("[{}]", format!("{entry}, ").repeat(length as usize));
            assert_eq!(refused(limit.what, &list(limit.most)), None, "{}", limit.what);
            let error = refused(limit.what, &list(limit.most + 1)).unwrap_or_default();
            assert!(error.contains(&format!("at most {}", limit.most)), "{error}");
        }
    }

    #[test]
    fn a_time_a_name_and_a_file_have_ceilings() {
        let days = |days: u64| refused("storm_ends_at", &format!("\"{days}d\""));
        assert_eq!(days(DAYS.most), None);
        assert!(days(DAYS.most + 1).unwrap_or_default().contains("36500 days at most"));
        let name =
            |length: u64| refused("variant", &format!("\"{}\"", "v".repeat(length as usize)));
        assert_eq!(name(NAME.most), None);
        assert!(name(NAME.most + 1).unwrap_or_default().contains("at most 8192"));
        let file = refused("story", &format!("\"{}\"", "x".repeat(BYTES.most as usize)));
        assert!(file.unwrap_or_default().contains("4194304 are allowed"));
    }

    #[test]
    fn what_is_sent_in_all_has_a_ceiling() {
        let sent = |bytes: usize, retries: u32| {
            let body = "b".repeat(bytes);
            let request =
                format!("{{ fetch = \"GET /\", body = \"{body}\", retries = {retries} }}");
            refused("requests", &format!("[{request}]"))
        };
        assert_eq!(sent(1 << 20, 6), None);
        assert_eq!(sent(100, 10_000), None);
        assert!(sent(1 << 20, 8).unwrap_or_default().contains("8388608"));
        let header = format!("{{ x = \"{}\" }}", "h".repeat(1 << 20));
        let request = format!("{{ fetch = \"GET /\", headers = {header}, retries = 8 }}");
        let error = refused("requests", &format!("[{request}]"));
        assert!(error.unwrap_or_default().contains("8388608"));
    }

    #[test]
    fn the_documentation_has_the_same_table() {
        let page = include_str!("../../../docs/scripts.md");
        let table = page.lines().skip_while(|line| *line != "| what | at most |").skip(2);
        let rows: Vec<&str> = table.take_while(|line| line.starts_with("| ")).collect();
        let table = ALL.map(|limit| format!("| {} | {} |", limit.what, limit.most));
        assert_eq!(rows, table);
    }
}
