//! The engine: how runs go and end, which faults there are, and what they do to an application.

mod answers;
mod bounds;
mod destructors;
mod faults;
mod invocations;
mod reduction;
mod runs;
mod sleep;
mod specimens;
mod storms;
mod streams;
mod support;
mod workflows;
