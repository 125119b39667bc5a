//! What is wanted, beside what was measured.

use farcache_bench::verdict::Verdict;

/// A line of the table.
pub struct Row {
    /// What is measured.
    pub what: String,
    /// What is wanted of it.
    pub wanted: String,
    /// The figures.
    pub measured: String,
    /// Whether they are what is wanted.
    pub verdict: Verdict,
}

/// Prints the table.
pub fn print(rows: &[Row]) {
    println!("| | wanted | measured | |");
    println!("|---|---|---|---|");
    for row in rows {
        let verdict = match row.verdict {
            Verdict::Yes => "met",
            Verdict::Unclear => "unclear",
            Verdict::No => "**missed**",
        };
        println!(
            "| {} | {} | {} | {verdict} |",
            row.what, row.wanted, row.measured
        );
    }
}
