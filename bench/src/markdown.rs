//! Tables as Markdown has them.

/// A table: its heads, then a line for each row.
pub fn table(heads: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let texts =
        |texts: &[&str]| -> Vec<String> { texts.iter().map(|text| (*text).into()).collect() };
    let rule = vec!["---"; heads.len()];
    let head = line(&texts(heads)) + &line(&texts(&rule));
    rows.into_iter()
        .fold(head, |table, row| table + &line(&row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_heads_a_rule_and_rows() {
        let found = table(&["a", "b"], [vec!["1".into(), "2".into()]]);
        assert_eq!(found, "| a | b |\n| --- | --- |\n| 1 | 2 |\n");
    }
}
