//! The library, page by page: newest first, in the order of ids.
//!
//! The cursor of a page is the id of its last row, and the next page is what comes behind that id. An id is given once
//! and does not change, so rows that come and go meanwhile move no other row across the cursor.

use serde_json::json;
use thunderhead_sim::sqlite::Value;
use thunderhead_sim::{Env, Error, Request, Response};

use super::library;
use super::mistakes;
use crate::systems::ids::is_uuid;
use crate::systems::json;

/// How many rows a page has unless its client says otherwise, and how many it may have.
const LIMIT: usize = 20;
const LIMIT_MAX: usize = 100;

/// What is browsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    Generations,
    Artifacts,
}

/// What a client wants to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Query {
    generation: Option<String>,
    tag: Option<String>,
    cursor: Option<String>,
    limit: Option<usize>,
}

/// Answers `?generation=ID&tag=TAG&limit=N&cursor=CURSOR`, each of which may be left out, with 200 `{items, cursor?}`.
/// There is a cursor as long as there is more. Generations have no `generation`.
pub async fn serve(
    env: &Env,
    client: &str,
    listing: Listing,
    request: &Request,
) -> Result<Response, Error> {
    let by_offset = mistakes::PAGES_BY_OFFSET.is_made(env);
    let query = match read(listing, request, by_offset) {
        Ok(query) => query,
        Err(fault) => return Ok(json::error(400, &fault)),
    };
    let limit = query.limit.unwrap_or(LIMIT);
    let whose = (!mistakes::LISTS_EVERYBODY.is_made(env)).then_some(client);
    let (sql, values) = question(whose, listing, &query, by_offset);
    let mut items = library::select(env, &sql, values).await?;
    let more = items.len() > limit;
    let last = match mistakes::CURSOR_TOO_FAR.is_made(env) {
        true => items.last().map(|row| row["id"].clone()),
        false => items.get(limit - 1).map(|row| row["id"].clone()),
    };
    items.truncate(limit);
    let mut page = json!({ "items": items });
    if more {
        page["cursor"] = match by_offset {
            true => (offset(&query) + limit).to_string().into(),
            false => last.unwrap_or_default(),
        };
    }
    Ok(Response::new(200, json::write(&page)))
}

/// Reads the parameters of a request; what is wrong with them, if anything is.
fn read(listing: Listing, request: &Request, by_offset: bool) -> Result<Query, String> {
    let mut query = Query::default();
    for (name, value) in request.query_pairs() {
        match &*name {
            "tag" => query.tag = Some(value),
            "generation" if listing == Listing::Artifacts => query.generation = Some(value),
            "cursor" if is_uuid(&value) || by_offset => query.cursor = Some(value),
            "cursor" => return Err("`cursor` is not one that a page has".into()),
            "limit" => {
                let limit = value.parse().ok().filter(|limit| (1..=LIMIT_MAX).contains(limit));
                let limit = limit.ok_or_else(|| format!("`limit` is from 1 to {LIMIT_MAX}"))?;
                query.limit = Some(limit);
            }
            _ => return Err(format!("there is no parameter `{name}`")),
        }
    }
    Ok(query)
}

/// The statement for a page and for the first row behind it, and its values.
fn question(
    client: Option<&str>,
    listing: Listing,
    query: &Query,
    by_offset: bool,
) -> (String, Vec<Value>) {
    let Query { generation, tag, cursor, limit } = query;
    let (table, tagged) = match listing {
        Listing::Generations => ("generations", "target_type = 'generation' AND target_id = id"),
        // The tags of a generation are those of its artifacts too.
        Listing::Artifacts => (
            "artifacts",
            "(target_type = 'artifact' AND target_id = id
    OR target_type = 'generation' AND target_id = generation_id)",
        ),
    };
    let tagged = format!("EXISTS (SELECT 1 FROM tags WHERE {tagged} AND tag = ?)");
    let behind = if by_offset { None } else { cursor.as_deref() };
    let clauses = [
        ("client = ?", client),
        ("generation_id = ?", generation.as_deref()),
        (&*tagged, tag.as_deref()),
        ("id < ?", behind),
    ];
    let mut sql = format!("SELECT * FROM {table} WHERE true");
    let mut values: Vec<Value> = Vec::new();
    for (clause, value) in clauses {
        if let Some(value) = value {
            sql += &format!(" AND {clause}");
            values.push(value.into());
        }
    }
    let rows = limit.unwrap_or(LIMIT) + 1;
    sql += &format!(" ORDER BY id DESC LIMIT {rows}");
    if by_offset {
        sql += &format!(" OFFSET {}", offset(query));
    }
    (sql, values)
}

fn offset(query: &Query) -> usize {
    query.cursor.as_ref().and_then(|cursor| cursor.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURSOR: &str = "01234567-89ab-7def-8123-456789abcdef";

    fn fault(listing: Listing, query: &str) -> Option<String> {
        read(listing, &Request::new("GET", &format!("/artifacts?{query}"), ""), false).err()
    }

    #[test]
    fn every_parameter_may_be_left_out() {
        assert_eq!(fault(Listing::Generations, ""), None);
        let all = format!("generation=g&tag=two%20words&limit=100&cursor={CURSOR}");
        assert_eq!(fault(Listing::Artifacts, &all), None);
    }

    #[test]
    fn a_parameter_that_cannot_be_read_is_told_apart() {
        for (query, wrong) in [
            ("limit=0", "`limit`"),
            ("limit=101", "`limit`"),
            ("limit=many", "`limit`"),
            ("cursor=3", "`cursor`"),
            ("cursor=", "`cursor`"),
            ("order=oldest", "`order`"),
            ("generation=g", "`generation`"),
        ] {
            let told = fault(Listing::Generations, query).unwrap_or_default();
            assert!(told.contains(wrong), "{query}: {told}");
        }
    }

    #[test]
    fn a_page_begins_behind_its_cursor() {
        let query = Query { cursor: Some(CURSOR.into()), limit: Some(2), ..Query::default() };
        let (sql, values) = question(Some("ann"), Listing::Generations, &query, false);
        let behind = "client = ? AND id < ? ORDER BY id DESC LIMIT 3";
        assert_eq!(sql, format!("SELECT * FROM generations WHERE true AND {behind}"));
        assert_eq!(values, [Value::from("ann"), Value::from(CURSOR)]);
    }
}
