//! An overview for people.

use crate::overview::{Moving, Overview, Server};
use indicatif::{HumanBytes, HumanCount};
use std::fmt::Write;

const HEADS: [&str; 10] = [
    "server",
    "address",
    "state",
    "weight",
    "zone",
    "share",
    "epoch",
    "items",
    "bytes",
    "hit ratio",
];

/// The text of an overview, with the last line feed.
pub fn shown(overview: &Overview) -> String {
    let mut text = format!(
        "cluster {}, epoch {}, placement {}\nmap: {}\n\n",
        overview.cluster, overview.epoch, overview.placement, overview.map
    );
    let rows = overview.servers.iter().map(row);
    write_table(&mut text, &rows.collect::<Vec<_>>());
    if !overview.moves.is_empty() {
        text.push_str("\nmoving:\n");
    }
    for moving in &overview.moves {
        write_move(&mut text, moving);
    }
    if !overview.problems.is_empty() {
        text.push_str("\nproblems:\n");
    }
    for problem in &overview.problems {
        let _ = writeln!(text, "  {problem}");
    }
    text
}

fn row(server: &Server) -> [String; 10] {
    let told = |of: &dyn Fn(&crate::overview::Told) -> String| {
        let told = server.told.as_ref();
        told.map_or_else(|| "-".to_owned(), of)
    };
    let mut state = server.state.to_owned();
    let told_of = server.told.as_ref();
    if told_of.is_some_and(|told| told.publisher) {
        state += ", publisher";
    }
    if told_of.is_some_and(|told| told.catching_up) {
        state += ", catching up";
    }
    [
        server.number.to_string(),
        server.addresses[0].clone(),
        state,
        server.weight.to_string(),
        server.zone.clone().unwrap_or_else(|| "-".to_owned()),
        percent(server.share),
        told(&|told| told.epoch.to_string()),
        told(&|told| HumanCount(told.items).to_string()),
        told(&|told| HumanBytes(told.bytes).to_string()),
        told(&|told| ratio(told.hits, told.misses)),
    ]
}

/// Columns as wide as their widest word; what is a number stands to the right.
fn write_table(text: &mut String, rows: &[[String; 10]]) {
    let widths: Vec<usize> = (0..HEADS.len())
        .map(|column| {
            let cells = rows.iter().map(|row| row[column].len());
            cells.chain([HEADS[column].len()]).max().unwrap_or(0)
        })
        .collect();
    let heads = HEADS.map(str::to_owned);
    for row in std::iter::once(&heads).chain(rows) {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| match column {
            1 | 2 | 4 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

fn write_move(text: &mut String, moving: &Moving) {
    let state = moving.state.as_deref().unwrap_or("not told of");
    let all = moving.keys + moving.keys_left;
    let _ = writeln!(
        text,
        "  {} to {}: {}, {} of all keys, {state}, {} of about {} items, {}/s",
        moving.from,
        moving.to,
        moving.phase,
        percent(moving.share),
        HumanCount(moving.keys),
        HumanCount(all),
        HumanBytes(moving.bytes_per_second),
    );
}

/// A share of 0 to 1.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn ratio(hits: u64, misses: u64) -> String {
    match hits + misses {
        0 => "-".to_owned(),
        all => percent(hits as f64 / all as f64),
    }
}
