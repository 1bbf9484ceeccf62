//! `DELETE` and `UPDATE` with `ORDER BY` and `LIMIT`. The platform's SQLite was built with them; for ours, which was not,
//! such a statement is written with a subquery.

use super::script::token_end;

/// The same statement without a limit of its own; nothing if it has none, or if that cannot be written so.
pub(super) fn rewritten(sql: &str) -> Option<String> {
    let words = words(sql);
    let is =
        |at: usize, word: &str| words.get(at).is_some_and(|(_, it)| it.eq_ignore_ascii_case(word));
    let find =
        |word: &str| words.iter().find(|(_, it)| it.eq_ignore_ascii_case(word)).map(|(at, _)| *at);
    find("limit")?;
    let after = |at: usize| words.get(at).map(|(place, word)| place + word.len());
    // Where the table is named, and what comes before the condition.
    let (table, before) = if is(0, "delete") && is(1, "from") {
        let end = first(&[find("where"), find("returning"), find("order"), find("limit")])?;
        (&sql[after(1)?..end], &sql[..end])
    } else if is(0, "update") && find("from").is_none() {
        let named = if is(1, "or") { after(2)? } else { after(0)? };
        let end = first(&[find("where"), find("returning"), find("order"), find("limit")])?;
        (&sql[named..find("set")?], &sql[..end])
    } else {
        return None;
    };
    let limit = first(&[find("order"), find("limit")])?;
    let returning = find("returning").filter(|at| *at < limit).map_or("", |at| &sql[at..limit]);
    // Parameters without numbers would change places.
    if returning.contains('?') {
        return None;
    }
    let condition = &sql[before.len()..limit - returning.len()];
    let (table, limit) = (table.trim(), &sql[limit..]);
    Some(format!(
        "{before} where rowid in (select rowid from {table} {condition} {limit}) {returning}"
    ))
}

fn first(places: &[Option<usize>]) -> Option<usize> {
    places.iter().flatten().min().copied()
}

/// The words outside of parentheses, quotes and comments, with their places.
fn words(sql: &str) -> Vec<(usize, &str)> {
    let bytes = sql.as_bytes();
    let (mut at, mut depth, mut words) = (0, 0_usize, Vec::new());
    while let Some(&byte) = bytes.get(at) {
        let end = token_end(bytes, at);
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ if depth == 0 && byte.is_ascii_alphabetic() => words.push((at, &sql[at..end])),
            _ => {}
        }
        at = end;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_becomes_one_of_a_subquery() {
        let said = |sql| rewritten(sql).unwrap_or_default();
        assert_eq!(
            said("DELETE FROM t WHERE a = ? ORDER BY b LIMIT ?"),
            "DELETE FROM t  where rowid in (select rowid from t WHERE a = ?  ORDER BY b LIMIT ?) "
        );
        assert_eq!(
            said("delete from \"my limit\" limit 1"),
            "delete from \"my limit\"  where rowid in (select rowid from \"my limit\"  limit 1) "
        );
        assert_eq!(
            said(
                "update or ignore t set a = (select 1 from u limit 1), b = ?1 where c returning * limit 2"
            ),
            "update or ignore t set a = (select 1 from u limit 1), b = ?1  where rowid in \
             (select rowid from t where c  limit 2) returning * "
        );
    }

    #[test]
    fn what_has_no_limit_of_its_own_is_left_as_it_is() {
        for sql in [
            "delete from t where a in (select a from u limit 1)",
            "delete from t where a = 'limit 1' -- limit 1",
            "select * from t limit 1",
            "update t set a = u.a from u limit 1",
            "delete from t returning ? limit ?",
        ] {
            assert_eq!(rewritten(sql), None, "{sql}");
        }
    }
}
