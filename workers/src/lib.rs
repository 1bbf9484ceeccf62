//! Workers in JavaScript on the simulated cloud: a folder with a `wrangler.jsonc` becomes a
//! [`System`](thunderhead_props::System), which every search can play.
//!
//! ```
//! use std::sync::Arc;
//!
//! use thunderhead_sim::{ClientRequest, Scenario, SortedMap, Source, Tape, Time, simulate};
//! use thunderhead_workers::{App, Config, Files};
//!
//! let source = r#"
//!     export default {
//!       async fetch(request, env) {
//!         await env.PHOTOS.put("cat.jpg", await request.text());
//!         return new Response("stored", { status: 201 });
//!       },
//!     };
//! "#;
//! let config = r#"{ "main": "index.js", "r2_buckets": [{ "binding": "PHOTOS", "bucket_name": "photos" }] }"#;
//! let files = Files::Memory(SortedMap::from([("index.js".to_string(), source.to_string())]));
//! let app = Arc::new(App::new(Config::parse("wrangler.json", config)?, files)?);
//!
//! let requests = vec![ClientRequest::new(Time::ZERO, "PUT", "/", "meow")];
//! let scenario = Scenario { requests, ..Scenario::default() };
//! let run = simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| app.mount(cloud));
//! let run = run.map_err(|error| error.to_string())?;
//! assert!(run.trace.to_string().contains(r#"r2.put photos/cat.jpg "meow""#));
//! # Ok::<(), String>(())
//! ```
//!
//! # How it works
//!
//! The engine is QuickJS. A program is compiled once (`code`), boots once per thread (`isolate`), and every later life
//! of a host begins with a copy of the heap as it was after the boot (`arena`). A call of a handler is a future of the
//! simulator (`invocation`); all that its JavaScript waits for are futures too (`ops`), which are polled with it
//! (`pump`). Web APIs and bindings are JavaScript (`prelude/`) over a few functions in Rust (`natives`). Every call of
//! a service is an operation of the simulator, so every fault strikes a Worker as it strikes a system in Rust.

mod app;
mod arena;
mod assets;
mod bindings;
mod code;
mod common_js;
mod config;
mod cron;
mod email;
mod environment;
mod esbuild;
mod failure;
mod files;
mod frame;
mod home;
mod host;
mod ignored;
mod image;
mod invocation;
mod isolate;
mod jsonc;
mod keys;
mod message;
mod migrations;
mod mount;
mod natives;
mod object;
mod ops;
mod outside;
mod package;
mod platform;
mod prelude;
mod pump;
mod rules;
mod secrets;
mod service_bindings;
mod source_map;
mod sources;
mod storm_http;
mod storm_ts;
mod tsconfig;
mod view;
mod worker;
mod write_tracking;

pub use app::App;
pub use config::Config;
pub use files::Files;
pub use isolate::booting_anew;
pub use worker::Worker;
