//! The tags of an artifact, which clients set, replace and remove. Every change is one transaction, so nobody sees half
//! of it, and may be made again.

use thunderhead_sim::sqlite::Value;
use thunderhead_sim::{Env, Error, Request, Response, SortedSet};

use super::library;
use super::mistakes;
use super::names::LIBRARY;
use super::wire::tags_fault;
use crate::systems::json;

const OF: &str =
    "SELECT tag FROM tags WHERE target_type = 'artifact' AND target_id = ? ORDER BY tag";
const CLEAR: &str = "DELETE FROM tags WHERE target_type = 'artifact' AND target_id = ?";
const ADD: &str = "INSERT INTO tags (tag, target_type, target_id)
  VALUES (?, 'artifact', ?) ON CONFLICT DO NOTHING";
const REMOVE: &str =
    "DELETE FROM tags WHERE tag = ? AND target_type = 'artifact' AND target_id = ?";

/// What a client wants of the tags of an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// `GET` → 200, a list.
    List,
    /// `PUT` with a list → 204, the tags are those.
    Replace(SortedSet<String>),
    /// `PUT ?tag=TAG` → 204, the tag is there.
    Add(String),
    /// `DELETE ?tag=TAG` → 204, the tag is not there.
    Remove(String),
}

impl Wanted {
    /// Reads a request; the answer to it if it cannot be read.
    pub fn read(request: &Request) -> Result<Wanted, Response> {
        if let Some((name, _)) = request.query_pairs().find(|(name, _)| name != "tag") {
            return Err(json::error(400, &format!("there is no parameter `{name}`")));
        }
        let wanted = match (&*request.method, request.query("tag")) {
            ("GET", None) => Wanted::List,
            ("PUT", None) => Wanted::Replace(
                json::read(&request.body).map_err(|error| json::error(400, &error))?,
            ),
            ("PUT", Some(tag)) => Wanted::Add(tag),
            ("DELETE", Some(tag)) => Wanted::Remove(tag),
            ("DELETE", None) => return Err(json::error(400, "`tag` says which tag is removed")),
            ("GET", Some(_)) => return Err(json::error(400, "`GET` has no parameter `tag`")),
            _ => {
                let refused = json::error(405, "tags have `GET`, `PUT` and `DELETE`");
                return Err(refused.with_header("allow", "GET, PUT, DELETE"));
            }
        };
        let fault = match &wanted {
            Wanted::List => None,
            Wanted::Replace(tags) => tags_fault(tags),
            Wanted::Add(tag) | Wanted::Remove(tag) => tags_fault([tag]),
        };
        fault.map_or(Ok(wanted), |fault| Err(json::error(400, &fault)))
    }
}

/// Does what is wanted of the tags of an artifact that there is.
pub async fn serve(env: &Env, artifact: &str, wanted: Wanted) -> Result<Response, Error> {
    match wanted {
        Wanted::List => {
            let tags = of(env, artifact).await?;
            return Ok(Response::new(200, json::write(&tags)));
        }
        Wanted::Replace(tags) => replace(env, artifact, &tags).await?,
        Wanted::Add(tag) => change(env, ADD, &tag, artifact).await?,
        Wanted::Remove(tag) => change(env, REMOVE, &tag, artifact).await?,
    }
    Ok(Response::new(204, ""))
}

/// The tags of an artifact, in their order.
async fn of(env: &Env, artifact: &str) -> Result<Vec<String>, Error> {
    let rows = library::select(env, OF, vec![artifact.into()]).await?;
    Ok(rows.iter().filter_map(|row| row["tag"].as_str().map(String::from)).collect())
}

async fn change(env: &Env, sql: &str, tag: &str, artifact: &str) -> Result<(), Error> {
    let db = env.d1(LIBRARY);
    db.prepare(sql).bind(vec![tag.into(), artifact.into()]).run().await.map(|_| ())
}

async fn replace(env: &Env, artifact: &str, tags: &SortedSet<String>) -> Result<(), Error> {
    let db = env.d1(LIBRARY);
    let id: Value = artifact.into();
    let clear = db.prepare(CLEAR).bind(vec![id.clone()]);
    let mut statements = Vec::new();
    if mistakes::REPLACES_IN_TWO.is_made(env) {
        clear.run().await?;
    } else if !mistakes::REPLACING_ADDS.is_made(env) {
        statements.push(clear);
    }
    let add = |tag: &String| db.prepare(ADD).bind(vec![tag.as_str().into(), id.clone()]);
    statements.extend(tags.iter().map(add));
    // Only a mistake leaves nothing to do: D1 refuses an empty batch.
    if statements.is_empty() {
        return Ok(());
    }
    db.batch(statements).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(method: &str, query: &str, body: &str) -> Result<Wanted, u16> {
        let path = format!("/artifacts/a/tags{query}");
        Wanted::read(&Request::new(method, &path, body)).map_err(|refused| refused.status)
    }

    #[test]
    fn tags_are_listed_replaced_added_and_removed() {
        assert_eq!(read("GET", "", ""), Ok(Wanted::List));
        let both = SortedSet::from(["cats".to_string(), "rain".into()]);
        assert_eq!(read("PUT", "", r#"["rain","cats","rain"]"#), Ok(Wanted::Replace(both)));
        assert_eq!(read("PUT", "", "[]"), Ok(Wanted::Replace(SortedSet::new())));
        assert_eq!(read("PUT", "?tag=two%20words", ""), Ok(Wanted::Add("two words".into())));
        assert_eq!(read("DELETE", "?tag=cats", ""), Ok(Wanted::Remove("cats".into())));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        let long = format!("?tag={}", "x".repeat(65));
        for (method, query, body, status) in [
            ("PUT", "", "", 400),
            ("PUT", "", r#""cats""#, 400),
            ("PUT", "", "[1]", 400),
            ("PUT", "", r#"[""]"#, 400),
            ("PUT", "?tag=", "", 400),
            ("PUT", &long, "", 400),
            ("PUT", "?tags=cats", "", 400),
            ("GET", "?tag=cats", "", 400),
            ("DELETE", "", "", 400),
            ("POST", "", "[]", 405),
        ] {
            assert_eq!(read(method, query, body), Err(status), "{method} {query} {body}");
        }
    }
}
