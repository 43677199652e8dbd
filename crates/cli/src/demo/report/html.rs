//! Text that cannot become markup, and tables of it.

/// A text as it may stand in an element or in a quoted attribute.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// A value as it may stand in a script element, which ends at the first `</script` whatever is around it.
pub(super) fn script_data(value: &serde_json::Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

/// A row of cells.
pub(super) fn row(tag: &str, cells: impl IntoIterator<Item = String>) -> String {
    let cells: String = cells.into_iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(&cell))).collect();
    format!("<tr>{cells}</tr>\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(escape("a<b>\"c\" & 'd'"), "a&lt;b&gt;&quot;c&quot; &amp; &#39;d&#39;");
        assert_eq!(row("td", ["<i>".to_owned()]), "<tr><td>&lt;i&gt;</td></tr>\n");
    }

    #[test]
    fn data_cannot_end_its_script() {
        let data = script_data(&json!({"name": "</script><b>"}));
        assert!(!data.contains('<'), "{data}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&data).unwrap()["name"], "</script><b>");
    }
}
