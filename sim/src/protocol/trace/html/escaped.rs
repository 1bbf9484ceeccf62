//! Text that is put into a page, as text and never as markup.

use std::fmt::{Display, Formatter, Result, Write};

use crate::values::printable::{printable, printable_json};

/// Text that is no markup, in an HTML document or in a quoted attribute of one.
///
/// ```
/// use thunderhead_sim::Escaped;
///
/// assert_eq!(Escaped("<b title='x'>").to_string(), "&lt;b title=&#39;x&#39;&gt;");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Escaped<T>(pub T);

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for c in printable(&self.0.to_string()).chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// A JSON document that can stand in a `script` element: nothing in it ends the element.
pub(super) fn json(document: &serde_json::Value) -> String {
    printable_json(&document.to_string()).replace('<', "\\u003c")
}
