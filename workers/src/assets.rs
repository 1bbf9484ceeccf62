//! Static assets: the files of `assets.directory`, which the platform serves before it asks the Worker.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use thunderhead_sim::{Body, Request, Response, SortedMap, StableHasher};

use crate::outside::matches;

/// `assets` in the configuration.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AssetsConfig {
    directory: Option<String>,
    /// The name of the binding, if there is one.
    pub binding: Option<String>,
    not_found_handling: NotFound,
    html_handling: Html,
    run_worker_first: WorkerFirst,
}

/// What is answered where there is no file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum NotFound {
    #[default]
    None,
    SinglePageApplication,
    #[serde(rename = "404-page")]
    Page404,
}

/// Whether `/about` and `/about/` are `about.html` and `about/index.html`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Html {
    #[default]
    AutoTrailingSlash,
    ForceTrailingSlash,
    DropTrailingSlash,
    None,
}

/// The paths for which the Worker is asked before the files.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum WorkerFirst {
    Always(bool),
    Paths(Vec<String>),
}

impl Default for WorkerFirst {
    fn default() -> WorkerFirst {
        WorkerFirst::Always(false)
    }
}

impl WorkerFirst {
    /// A pattern with `!` is an exception from the others.
    fn is_for(&self, path: &str) -> bool {
        match self {
            WorkerFirst::Always(always) => *always,
            WorkerFirst::Paths(patterns) => {
                let except = patterns.iter().filter_map(|pattern| pattern.strip_prefix('!'));
                let fits = |pattern: &str| matches(pattern, path);
                patterns.iter().any(|pattern| fits(pattern)) && !except.into_iter().any(fits)
            }
        }
    }
}

/// The most bytes that are kept. Files beyond them are served without their content.
const MOST_BYTES: usize = 32 << 20;
/// The most files that the platform takes.
const MOST_FILES: usize = 20_000;

/// The files, by their paths.
#[derive(Clone, Debug, Default)]
pub struct Assets {
    config: AssetsConfig,
    files: Arc<SortedMap<String, Body>>,
}

impl Assets {
    /// Reads the files. A folder that is not there has none: it is often made by a build.
    pub fn read(folder: &Path, config: &AssetsConfig) -> Assets {
        let mut files = SortedMap::new();
        if let Some(directory) = &config.directory {
            let mut left = MOST_BYTES;
            collect(&folder.join(directory), "", &mut files, &mut left);
        }
        Assets { config: config.clone(), files: Arc::new(files) }
    }

    /// Whether there is no file.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The folder that the configuration names.
    pub fn directory(&self) -> Option<&str> {
        self.config.directory.as_deref()
    }

    /// The answer to a request that the Worker does not see.
    pub fn before(&self, request: &Request) -> Option<Response> {
        let path = request.pathname();
        if self.files.is_empty() || self.config.run_worker_first.is_for(path) {
            return None;
        }
        // Where paths are named that the Worker is asked for, all others are the files' affair.
        let is_routed = matches!(self.config.run_worker_first, WorkerFirst::Paths(_));
        let navigates = request.headers.get("sec-fetch-mode") == Some("navigate");
        let handles = self.config.not_found_handling != NotFound::None && (is_routed || navigates);
        (self.found(request).is_some() || handles).then(|| self.answer(request))
    }

    /// The answer of the binding.
    pub fn answer(&self, request: &Request) -> Response {
        if !matches!(&*request.method, "GET" | "HEAD") {
            return Response::new(405, "");
        }
        let found = self.found(request).unwrap_or_else(|| self.missing(request.pathname()));
        let known = request.headers.get("if-none-match").zip(found.headers.get("etag"));
        let is_known = known.is_some_and(|(known, tag)| {
            known.split(',').any(|one| one.trim().trim_start_matches("W/") == tag)
        });
        if found.status == 200 && is_known {
            return Response { status: 304, body: Body::empty(), ..found };
        }
        sent(request, found)
    }

    /// The file at a path, or the address at which it is.
    fn found(&self, request: &Request) -> Option<Response> {
        let path = decoded(request.pathname());
        let file = |name: &str| self.files.get_key_value(name);
        let moved = |to: &str| {
            let query = request
                .path
                .split_once('?')
                .map_or(String::new(), |(_, query)| format!("?{query}"));
            Some(Response::new(307, "").with_header("location", &format!("{to}{query}")))
        };
        if self.config.html_handling != Html::None {
            let (bare, slash) = (path.trim_end_matches('/'), path.ends_with('/'));
            let (page, index) = (format!("{bare}.html"), format!("{bare}/index.html"));
            let drops = self.config.html_handling == Html::DropTrailingSlash;
            let forces = self.config.html_handling == Html::ForceTrailingSlash;
            let index_of = |end| path.strip_suffix(end).filter(|_| file(&path).is_none());
            let is_there = |name: &&str| file(&format!("{name}/index.html")).is_some();
            let by_name = path.strip_suffix("/index.html").filter(|_| file(&path).is_some());
            if let Some(name) = by_name.or_else(|| index_of("/index").filter(is_there)) {
                return moved(&if drops && !name.is_empty() {
                    name.into()
                } else {
                    format!("{name}/")
                });
            }
            if let Some(name) = path.strip_suffix(".html").filter(|_| file(&path).is_some()) {
                return moved(&if forces { format!("{name}/") } else { name.into() });
            }
            let found = file(&index)
                .map(|found| (found, !drops))
                .or_else(|| file(&page).map(|found| (found, forces)));
            if let Some(((name, body), wants_slash)) = found.filter(|_| file(&path).is_none()) {
                return match slash == wants_slash || bare.is_empty() {
                    true => Some(served(200, name, body)),
                    false => moved(&if wants_slash { format!("{bare}/") } else { bare.into() }),
                };
            }
        }
        file(&path).map(|(name, body)| served(200, name, body))
    }

    fn missing(&self, path: &str) -> Response {
        match self.config.not_found_handling {
            NotFound::None => None,
            NotFound::SinglePageApplication => {
                self.files.get("/index.html").map(|body| served(200, "/index.html", body))
            }
            // The nearest one, on the way up.
            NotFound::Page404 => {
                let folders =
                    path.rmatch_indices('/').map(|(at, _)| format!("{}/404.html", &path[..at]));
                let mut pages = folders.filter_map(|name| self.files.get(&name));
                pages.next().map(|body| served(404, "/404.html", body))
            }
        }
        .unwrap_or_else(|| Response::new(404, ""))
    }
}

/// What is sent of a response: who asks for the head alone gets no body.
fn sent(request: &Request, response: Response) -> Response {
    match &*request.method {
        "HEAD" => Response { body: Body::from(""), ..response },
        _ => response,
    }
}

fn served(status: u16, name: &str, body: &Body) -> Response {
    let mut hasher = StableHasher::default();
    std::hash::Hash::hash(body, &mut hasher);
    let tag = format!("\"{:016x}\"", std::hash::Hasher::finish(&hasher));
    Response::new(status, body.clone())
        .with_header("content-type", content_type(name))
        .with_header("cache-control", "public, max-age=0, must-revalidate")
        .with_header("etag", &tag)
}

/// A path without percent signs.
fn decoded(path: &str) -> String {
    percent_encoding::percent_decode_str(path).decode_utf8_lossy().into_owned()
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, end)| end) {
        "html" | "htm" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" | "map" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        "md" => "text/markdown; charset=utf-8",
        "xml" => "application/xml",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "ico" => "image/vnd.microsoft.icon",
        "woff2" => "font/woff2",
        "wasm" => "application/wasm",
        "pdf" => "application/pdf",
        _ => "application/octet-stream",
    }
}

/// Files of the platform's own, which are not served.
const CONFIGURATION: [&str; 3] = ["/_headers", "/_redirects", "/.assetsignore"];

fn collect(folder: &Path, path: &str, files: &mut SortedMap<String, Body>, left: &mut usize) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let Some(name) = entry.file_name().to_str().map(|name| format!("{path}/{name}")) else {
            continue;
        };
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            if !name.ends_with("/node_modules") {
                collect(&entry.path(), &name, files, left);
            }
        } else if kind.is_file() && files.len() < MOST_FILES && !CONFIGURATION.contains(&&*name) {
            let size = entry
                .metadata()
                .map_or(0, |known| usize::try_from(known.len()).unwrap_or(usize::MAX));
            let bytes = if size <= *left {
                std::fs::read(entry.path()).unwrap_or_default()
            } else {
                Vec::new()
            };
            *left -= bytes.len().min(*left);
            files.insert(name, bytes.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assets(config: &str) -> Assets {
        let names =
            ["/index.html", "/about.html", "/docs/index.html", "/docs/404.html", "/a b.txt"];
        let files = names.iter().map(|name| (name.to_string(), Body::from(*name))).collect();
        Assets { config: serde_json::from_str(config).unwrap(), files: Arc::new(files) }
    }

    fn told(response: &Response) -> (u16, String) {
        let text = response.headers.get("location").or(response.body.text()).unwrap_or_default();
        (response.status, text.into())
    }

    #[test]
    fn a_path_leads_to_its_page_or_to_where_the_page_is() {
        let assets = assets("{}");
        for (path, status, text) in [
            ("/", 200, "/index.html"),
            ("/index.html?a=1", 307, "/?a=1"),
            ("/about", 200, "/about.html"),
            ("/about/", 307, "/about"),
            ("/about.html", 307, "/about"),
            ("/docs", 307, "/docs/"),
            ("/docs/", 200, "/docs/index.html"),
            ("/docs/index", 307, "/docs/"),
            ("/a%20b.txt", 200, "/a b.txt"),
        ] {
            let response = assets.before(&Request::new("GET", path, ""));
            let response = response.unwrap_or_else(|| panic!("{path} is not served"));
            assert_eq!(told(&response), (status, text.to_string()), "{path}");
        }
        assert_eq!(assets.before(&Request::new("GET", "/api", "")), None);
        assert_eq!(assets.before(&Request::new("POST", "/api", "")), None);
        assert_eq!(assets.before(&Request::new("POST", "/about", "")).unwrap().status, 405);
        assert_eq!(assets.answer(&Request::new("GET", "/api", "")).status, 404);
    }

    #[test]
    fn who_asks_for_the_head_of_a_file_is_sent_no_body() {
        let head = assets("{}").answer(&Request::new("HEAD", "/about", ""));
        assert_eq!((told(&head), head.headers.get("etag").is_some()), ((200, "".into()), true));
        assert_eq!(assets("{}").before(&Request::new("HEAD", "/about", "")), Some(head));
    }

    #[test]
    fn what_is_not_there_is_handled_as_the_configuration_says() {
        let get = |path| Request::new("GET", path, "");
        let app = assets(
            r#"{ "not_found_handling": "single-page-application", "run_worker_first": ["/docs/*", "!/docs/"] }"#,
        );
        assert_eq!(told(&app.answer(&get("/any"))), (200, "/index.html".into()));
        assert_eq!(told(&app.before(&get("/any")).unwrap()), (200, "/index.html".into()));
        let asks_first = assets(r#"{ "not_found_handling": "single-page-application" }"#);
        assert_eq!(asks_first.before(&get("/any")), None);
        let navigates = get("/any").with_header("sec-fetch-mode", "navigate");
        assert!(asks_first.before(&navigates).is_some());
        assert_eq!(app.before(&get("/docs/404")), None);
        assert!(app.before(&get("/docs/")).is_some());
        let pages = assets(r#"{ "not_found_handling": "404-page" }"#);
        assert_eq!(told(&pages.answer(&get("/docs/x/y"))), (404, "/docs/404.html".into()));
        assert_eq!(pages.answer(&get("/x")).status, 404);
    }

    #[test]
    fn a_file_that_is_known_by_its_tag_is_not_sent_again() {
        let assets = assets("{}");
        let get = || Request::new("GET", "/about", "");
        let tag = assets.answer(&get()).headers.get("etag").unwrap().to_string();
        for (known, status) in [(&*tag, 304), (&*format!("\"x\", W/{tag}"), 304), ("\"x\"", 200)] {
            let answer = assets.answer(&get().with_header("if-none-match", known));
            assert_eq!((answer.status, answer.body.is_empty()), (status, status == 304), "{known}");
        }
    }
}
