//! How large artifacts are, and what they cost.

use thunderhead_sim::sqlite::{RowChange, Value};
use thunderhead_sim::{SortedMap, SortedSet};

use super::facts::{Fact, Figures, after, facts};
use crate::promise::{Finding, Promise};
use crate::promises::Reading;

pub static THE_PROVIDERS: Promise = Promise::always_shared(
    "figures are the provider's",
    "an artifact has the size and the cost that the provider says, and a generation costs what its artifacts cost",
    the_providers,
);

fn the_providers(trace: &Reading<'_>) -> Result<(), Finding> {
    // What the provider has said of each artifact, and what each artifact and each generation cost.
    let mut said: SortedMap<&str, SortedSet<Figures>> = SortedMap::new();
    let mut costs: SortedMap<&str, (&str, i64)> = SortedMap::new();
    for (event, _, fact) in facts(trace) {
        let changes = match fact {
            Fact::Charged(job, figures) => {
                said.entry(job.artifact).or_default().extend(Figures::read(figures));
                continue;
            }
            Fact::Library(changes) => changes,
            _ => continue,
        };
        for row in changes.iter().filter(|row| &*row.table == "artifacts") {
            let Some(figures) = figures(row) else { continue };
            let id = after(row, "id");
            if !said.get(id).is_some_and(|said| said.contains(&figures)) {
                let Figures { width, height, cost } = figures;
                let message = format!(
                    "{id} is {width} x {height} and costs {cost}: the provider did not say so"
                );
                return Err(Finding::at(event, message));
            }
            costs.insert(id, (after(row, "generation_id"), figures.cost));
        }
        for row in changes.iter().filter(|row| &*row.table == "generations") {
            let Some(cost) = number(row, "cost") else { continue };
            let id = after(row, "id");
            let sum: i64 = costs.values().filter(|(of, _)| *of == id).map(|(_, cost)| cost).sum();
            if cost != sum {
                let message = format!("{id} costs {cost}, and its artifacts {sum}");
                return Err(Finding::at(event, message));
            }
        }
    }
    Ok(())
}

/// The figures of an artifact's row; none if its table has no such columns.
fn figures(row: &RowChange) -> Option<Figures> {
    Some(Figures {
        width: number(row, "width")?,
        height: number(row, "height")?,
        cost: number(row, "cost")?,
    })
}

/// A number of a row; 0 if it is not known.
fn number(row: &RowChange, column: &str) -> Option<i64> {
    row.value_after(column).map(|value| Value::as_i64(value).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::promises::generations::mutants::{Story, row_artifact, row_generation};

    fn with(mut row: RowChange, numbers: &[(&str, i64)]) -> RowChange {
        let values = numbers.iter().map(|(name, n)| ((*name).into(), Value::Integer(*n)));
        row.after.as_mut().expect("it is inserted").extend(values);
        row
    }

    fn artifact(id: &str, [width, height, cost]: [i64; 3]) -> RowChange {
        let numbers = [("width", width), ("height", height), ("cost", cost)];
        with(row_artifact(id, "g"), &numbers)
    }

    fn said() -> Story {
        let mut story = Story::given(&json!({ "count": 2 }));
        story.charged_with("a-1", "a", "512 x 256, 30").charged_with("b-1", "b", "512 x 256, 31");
        story
    }

    #[test]
    fn a_size_or_a_cost_that_the_provider_did_not_say_is_rejected() {
        assert_eq!(
            the_providers(&Reading::of(&said().library(&[artifact("a", [512, 256, 30])]).trace())),
            Ok(())
        );
        for wrong in [[256, 512, 30], [512, 256, 31], [512, 256, 0]] {
            let trace = said().library(&[artifact("a", wrong)]).trace();
            assert!(the_providers(&Reading::of(&trace)).is_err(), "{wrong:?}");
        }
        let stranger = said().library(&[artifact("c", [512, 256, 30])]).trace();
        assert!(the_providers(&Reading::of(&stranger)).is_err());
    }

    #[test]
    fn a_generation_that_costs_more_or_less_than_its_artifacts_is_rejected() {
        let ended = |cost| {
            let mut story = said();
            story.library(&[artifact("a", [512, 256, 30])]);
            story.library(&[artifact("b", [512, 256, 31])]);
            let row = with(row_generation("g", "ready", 2), &[("cost", cost)]);
            the_providers(&Reading::of(&story.library(&[row]).trace()))
        };
        assert_eq!(ended(61), Ok(()));
        assert!(ended(60).is_err() && ended(62).is_err());
    }

    #[test]
    fn a_table_without_figures_is_not_judged() {
        let mut story = said();
        assert_eq!(
            the_providers(&Reading::of(&story.made("a").written("g", "ready", 1).trace())),
            Ok(())
        );
    }
}
