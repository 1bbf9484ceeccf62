//! R2: objects, conditions, listings, multipart uploads, notifications.

mod conformance;
mod model;
mod multipart;
mod notifications;
mod reads;
mod rules;
mod support;
mod unpublished;
