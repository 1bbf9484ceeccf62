//! Small Workers on the host: what their JavaScript sees, and what their calls do on the cloud.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod answers;
mod bindings;
mod ciphers;
mod determinism;
mod email;
mod false_alarms;
mod folders;
mod hibernation;
mod hostile;
mod html;
mod http;
mod idle;
mod intl;
mod kv;
mod kv_service;
mod language;
mod messages;
mod node_exports;
mod node_modules;
mod objects;
mod outside;
mod probes;
mod requests;
mod rsa_keys;
mod second_series;
mod services;
mod shapes;
mod shrinking;
mod sockets;
mod stores;
mod stream_rules;
mod streams;
mod support;
mod surprises;
#[cfg(feature = "typescript")]
mod typescript;
mod usages;
mod web;
mod workflows;
