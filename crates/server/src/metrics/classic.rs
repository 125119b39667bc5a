//! The classic text format of Prometheus, for those who do not ask for OpenMetrics: `curl`,
//! `promtool check metrics`.
//!
//! It differs in this: a counter's name ends in `_total` where it is described, too; units have no
//! lines of their own; there is no last line. Source: "Exposition formats" of Prometheus's
//! documentation, version 0.0.4.

/// Its name in HTTP.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Writes a page in the classic format; `page` is in OpenMetrics, with each metric's help right
/// before its type.
pub(super) fn from_open_metrics(page: &str) -> String {
    let mut classic = String::with_capacity(page.len());
    let mut help = None;
    for line in page.lines() {
        if let Some(described) = line.strip_prefix("# HELP ") {
            help = described.split_once(' ');
        } else if let Some(described) = line.strip_prefix("# TYPE ") {
            let (name, kind) = described.split_once(' ').unwrap_or((described, ""));
            describe(&mut classic, name, kind, help.take());
        } else if !line.starts_with('#') {
            push_line(&mut classic, &[line]);
        }
    }
    classic
}

fn describe(classic: &mut String, name: &str, kind: &str, help: Option<(&str, &str)>) {
    let suffix = if kind == "counter" { "_total" } else { "" };
    if let Some((_, text)) = help {
        push_line(classic, &["# HELP ", name, suffix, " ", text]);
    }
    push_line(classic, &["# TYPE ", name, suffix, " ", kind]);
}

fn push_line(classic: &mut String, parts: &[&str]) {
    classic.extend(parts.iter().copied());
    classic.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_named_in_full_and_units_and_the_end_have_no_lines() {
        let page = "# HELP a_gets Keys asked for.\n# TYPE a_gets counter\na_gets_total 3\n\
            # HELP a_get_seconds Time.\n# TYPE a_get_seconds histogram\n# UNIT a_get_seconds seconds\n\
            a_get_seconds_count 1\n# EOF\n";
        let classic = "# HELP a_gets_total Keys asked for.\n# TYPE a_gets_total counter\na_gets_total 3\n\
            # HELP a_get_seconds Time.\n# TYPE a_get_seconds histogram\na_get_seconds_count 1\n";
        assert_eq!(from_open_metrics(page), classic);
    }
}
