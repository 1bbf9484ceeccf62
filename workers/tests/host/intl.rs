//! Numbers, dates and the order of texts, in English.

use crate::support::{value, values};

/// What Node says, which has the same engine as the platform.
#[test]
fn numbers_are_written_as_in_english() {
    values(&[
        ("(1234567.891).toLocaleString()", r#""1,234,567.891""#),
        ("(1.0005).toLocaleString('en-US')", r#""1.001""#),
        ("(1.005).toLocaleString(undefined, { maximumFractionDigits: 2 })", r#""1.01""#),
        ("(5).toLocaleString('en-US', { minimumFractionDigits: 2 })", r#""5.00""#),
        ("12345678901234567890n.toLocaleString()", r#""12,345,678,901,234,567,890""#),
        (
            "(0.256).toLocaleString('en-US', { style: 'percent', maximumFractionDigits: 1 })",
            r#""25.6%""#,
        ),
        (
            "['USD', 'EUR', 'GBP', 'JPY'].map((currency) => (-1234.5).toLocaleString('en-US', { style: 'currency', currency }))",
            r#"["-$1,234.50","-€1,234.50","-£1,234.50","-¥1,235"]"#,
        ),
        ("[1234.5, 2].map(Intl.NumberFormat('en-US').format)", r#"["1,234.5","2"]"#),
        ("[NaN, -Infinity].map((number) => number.toLocaleString())", r#"["NaN","-∞"]"#),
    ]);
}

/// What Node says. Its engine, as that of the platform, has a plain space before AM.
#[test]
fn dates_are_written_as_in_english_and_utc() {
    let date = "new Date('2026-03-01T02:30:00Z')";
    for (call, expected) in [
        ("toLocaleDateString('en-US')", "3/1/2026"),
        ("toLocaleTimeString('en-US')", "2:30:00 AM"),
        ("toLocaleString('en-US')", "3/1/2026, 2:30:00 AM"),
        ("toLocaleString()", "3/1/2026, 2:30:00 AM"),
        ("toLocaleDateString('en-CA')", "2026-03-01"),
        ("toLocaleDateString('en-GB')", "01/03/2026"),
        ("toLocaleDateString('sv-SE', { timeZone: 'Etc/UTC' })", "2026-03-01"),
        ("toLocaleString('sv-SE')", "2026-03-01 02:30:00"),
        (
            "toLocaleDateString('en-US', { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' })",
            "Sunday, March 1, 2026",
        ),
        ("toLocaleDateString('en-US', { month: 'short', day: '2-digit' })", "Mar 01"),
        ("toLocaleTimeString('en-US', { hour: '2-digit', minute: '2-digit' })", "02:30 AM"),
        ("toLocaleTimeString('en-US', { hour12: false })", "02:30:00"),
        (
            "toLocaleString('en-US', { dateStyle: 'medium', timeStyle: 'short' })",
            "Mar 1, 2026, 2:30 AM",
        ),
        (
            "toLocaleString('en-US', { dateStyle: 'full', timeStyle: 'long' })",
            "Sunday, March 1, 2026 at 2:30:00 AM UTC",
        ),
    ] {
        assert_eq!(value(&format!("{date}.{call}")), format!("\"{expected}\""), "{call}");
    }
    values(&[
        (
            "new Intl.DateTimeFormat('en-CA', { year: 'numeric', month: '2-digit', day: '2-digit' }).formatToParts(new Date(0)).map(({ value }) => value)",
            r#"["1970","-","01","-","01"]"#,
        ),
        ("Intl.DateTimeFormat().resolvedOptions().timeZone", r#""UTC""#),
        ("new Date(NaN).toLocaleString()", r#""Invalid Date""#),
    ]);
}

#[test]
fn another_zone_or_language_is_refused_by_its_name() {
    for (expression, why) in [
        (
            "new Date(0).toLocaleString('en-US', { timeZone: 'Europe/Berlin' })",
            "RangeError: The time zone Europe/Berlin is not simulated: only UTC is.",
        ),
        (
            "new Intl.DateTimeFormat('en-US', { timeZone: 'America/New_York' })",
            "RangeError: The time zone America/New_York is not simulated: only UTC is.",
        ),
        (
            "new Intl.DateTimeFormat('en-US', { timeZone: 'Nowhere' })",
            "RangeError: Invalid time zone specified: Nowhere",
        ),
        (
            "(1.5).toLocaleString('de-DE')",
            "Error: Intl.NumberFormat: the locale de-DE is not simulated",
        ),
        (
            "new Date(0).toLocaleDateString('de-DE')",
            "Error: Intl.DateTimeFormat: the locale de-DE is not simulated",
        ),
        ("'a'.localeCompare('b', 'sv')", "Error: Intl.Collator: the locale sv is not simulated"),
    ] {
        let said = value(&format!(
            "(() => {{ try {{ return {expression}; }} catch (error) {{ return String(error); }} }})()"
        ));
        assert!(said.starts_with(&format!("\"{why}")), "{expression}: {said}");
    }
}

#[test]
fn texts_are_in_the_order_of_a_dictionary() {
    values(&[
        (
            "['b', 'B', 'a', 'A', 'z', 'é', 'e', 'f', '10', '9', '_', 'resume', 'résumé', 'Resume'].sort((one, two) => one.localeCompare(two))",
            r#"["_","10","9","a","A","b","B","e","é","f","resume","Resume","résumé","z"]"#,
        ),
        (
            "['a10', 'a9', 'A1', 'a1'].sort(new Intl.Collator('en', { numeric: true }).compare)",
            r#"["a1","A1","a9","a10"]"#,
        ),
        (
            "['base', 'accent', 'case', 'variant'].map((sensitivity) => ['A', 'á', 'b'].map((other) => 'a'.localeCompare(other, 'en', { sensitivity })))",
            "[[0,0,-1],[0,-1,-1],[-1,0,-1],[-1,-1,-1]]",
        ),
    ]);
}
