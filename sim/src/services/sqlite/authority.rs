//! What an application's SQL may do, as the platform's authorizer decides it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use super::capture::RESERVED;
use super::shape::TRIGGER;
use super::shared::Shared;

/// Functions that tell about the build, not about data.
const DENIED_FUNCTIONS: [&str; 7] = [
    "sqlite_version",
    "sqlite_source_id",
    "sqlite_offset",
    "sqlite_log",
    "sqlite_compileoption_get",
    "sqlite_compileoption_used",
    "fts3_tokenizer",
];
/// Pragmas with a switch. All but the first two outlive a rollback.
const SWITCHES: [&str; 7] = [
    "foreign_keys",
    "defer_foreign_keys",
    "case_sensitive_like",
    "ignore_check_constraints",
    "legacy_alter_table",
    "recursive_triggers",
    "reverse_unordered_selects",
];
/// Pragmas that describe something.
const DESCRIPTIONS: [&str; 11] = [
    "data_version",
    "table_list",
    "table_info",
    "table_xinfo",
    "foreign_key_check",
    "foreign_key_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "quick_check",
    "optimize",
];

pub(super) fn install(connection: &mut Connection, shared: &Arc<Shared>) -> rusqlite::Result<()> {
    let shared = Arc::clone(shared);
    connection.authorizer(Some(move |context: AuthContext<'_>| {
        let ours = context.accessor.is_some_and(|name| name.starts_with(TRIGGER));
        match shared.internal.load(Relaxed) || ours || allowed(&shared, &context) {
            true => Authorization::Allow,
            false => Authorization::Deny,
        }
    }))
}

fn allowed(shared: &Shared, context: &AuthContext<'_>) -> bool {
    let name = |name: &str| {
        let start = name.get(..RESERVED.len());
        !start.is_some_and(|start| start.eq_ignore_ascii_case(RESERVED))
    };
    match context.action {
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => {
            shared.transaction_refused.store(true, Relaxed);
            false
        }
        AuthAction::Function { function_name } => {
            name(function_name) && !DENIED_FUNCTIONS.contains(&function_name)
        }
        AuthAction::Pragma { pragma_name, pragma_value } => {
            pragma(shared, pragma_name, pragma_value)
        }
        AuthAction::CreateTempIndex { .. }
        | AuthAction::CreateTempTable { .. }
        | AuthAction::CreateTempTrigger { .. }
        | AuthAction::CreateTempView { .. }
        | AuthAction::DropTempIndex { .. }
        | AuthAction::DropTempTable { .. }
        | AuthAction::DropTempTrigger { .. }
        | AuthAction::DropTempView { .. }
        | AuthAction::Attach { .. }
        | AuthAction::Detach { .. } => false,
        // Our triggers are listed there, and SQLite itself looks when the schema changes.
        AuthAction::Read { table_name: "sqlite_temp_master", .. } => {
            shared.changing_schema.load(Relaxed)
        }
        AuthAction::CreateVtable { module_name, .. }
        | AuthAction::DropVtable { module_name, .. } => {
            ["fts5", "fts5vocab"].iter().any(|module| module_name.eq_ignore_ascii_case(module))
        }
        AuthAction::CreateTable { table_name }
        | AuthAction::DropTable { table_name }
        | AuthAction::Insert { table_name }
        | AuthAction::Delete { table_name }
        | AuthAction::Read { table_name, .. }
        | AuthAction::Update { table_name, .. }
        | AuthAction::AlterTable { table_name, .. } => name(table_name),
        AuthAction::CreateView { view_name } => name(view_name),
        AuthAction::CreateTrigger { trigger_name, table_name } => {
            name(trigger_name) && name(table_name)
        }
        AuthAction::CreateIndex { index_name, table_name } => name(index_name) && name(table_name),
        _ => true,
    }
}

fn pragma(shared: &Shared, name: &str, value: Option<&str>) -> bool {
    let is = |list: &[&str]| list.iter().any(|entry| name.eq_ignore_ascii_case(entry));
    if name.eq_ignore_ascii_case("defer_foreign_keys") && value.is_some() {
        shared.deferring.store(true, Relaxed);
    }
    if is(&SWITCHES[2..]) && value.is_some() || name.eq_ignore_ascii_case("optimize") {
        shared.tainted.store(true, Relaxed);
    }
    is(&SWITCHES) || is(&DESCRIPTIONS)
}
