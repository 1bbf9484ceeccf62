//! The stores: their contract, their migrations, and random histories, on SQLite and on a PostgreSQL server that
//! the tests start.

mod advisory;
mod conformance;
mod histories;
mod migrations;
mod postgres;
mod servers;
mod support;
mod tls;
