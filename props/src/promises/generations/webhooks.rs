//! Who may call back.

use thunderhead_sim::SortedSet;

use super::facts::{Fact, facts};
use crate::promise::{Finding, Promise};
use crate::promises::Reading;

pub static FORGED: Promise = Promise::always_shared(
    "a forged webhook is refused",
    "a webhook that the provider did not send is answered with 401; one that somebody sends again in time is not told from the first",
    forged,
);

fn forged(trace: &Reading<'_>) -> Result<(), Finding> {
    let (mut sent, mut forged) = (SortedSet::new(), SortedSet::new());
    for (event, _, fact) in facts(trace) {
        match fact {
            Fact::CallsBack { call } => drop(sent.insert(call)),
            Fact::Asked { call, request }
                if request.pathname() == "/webhook" && !sent.contains(&call) =>
            {
                forged.insert(call);
            }
            Fact::Answered { call, response }
                if forged.contains(&call) && response.status != 401 =>
            {
                let message = format!("a forged webhook is answered with {}", response.status);
                return Err(Finding::at(event, message));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use thunderhead_sim::{Op, Reply, Request, Response, Trace};

    use super::*;
    use crate::mutant::History;

    /// Somebody sends a webhook, and is answered.
    fn called(actor: &str, status: u16) -> Trace {
        let request = Request::new("POST", "/webhook?generation_id=g", "{}");
        let op = Op::Fetch { to: "web".into(), request };
        let mut history = History::default();
        history.calls(actor, 1, op.clone()).begins_as("web", 1, op);
        history.ends_as("web", 1, Reply::Fetch(Response::new(status, "")));
        history.trace()
    }

    #[test]
    fn a_webhook_of_a_stranger_that_is_not_refused_is_rejected_where_it_is_answered() {
        assert_eq!(forged(&Reading::of(&called("provider", 200))), Ok(()));
        assert_eq!(forged(&Reading::of(&called("client", 401))), Ok(()));
        for status in [200, 404, 410] {
            let finding = forged(&Reading::of(&called("client", status))).unwrap_err();
            assert_eq!(finding.event, Some(2), "{status}");
        }
    }
}
