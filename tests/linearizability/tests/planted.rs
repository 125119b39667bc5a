//! Histories made by hand: those that must be refused, and those beside them that must not.

use farcache_linearizability::{Verdict, check, parse, print, shrink};

const STATES_MAX: usize = 1_000_000;

fn verdict(text: &str) -> Verdict {
    let history = parse(text).expect("a history");
    assert_eq!(parse(&print(&history)), Ok(history.clone()), "{text}");
    check(&history, STATES_MAX)
}

fn assert_accepted(text: &str) {
    assert_eq!(verdict(text), Verdict::Linearizable, "{text}");
}

fn assert_refused(text: &str) {
    assert_eq!(verdict(text), Verdict::Refused, "{text}");
}

#[test]
fn a_stale_read_is_refused() {
    assert_refused("1 1 2 set 1 -> done\n1 3 4 set 2 -> done\n2 5 6 read -> value 1");
    assert_accepted("1 1 2 set 1 -> done\n1 3 4 set 2 -> done\n2 5 6 read -> value 2");
    // While the second is written, either is right, but not the older after the newer.
    assert_accepted("1 1 2 set 1 -> done\n1 3 9 set 2 -> done\n2 5 6 read -> value 1");
    assert_refused(
        "1 1 2 set 1 -> done\n1 3 9 set 2 -> done\n\
         2 4 5 read -> value 2\n3 6 7 read -> value 1",
    );
}

#[test]
fn a_lost_acknowledged_write_is_refused() {
    assert_refused("1 1 2 set 1 -> done\n2 3 4 read -> value -");
    assert_refused("1 1 2 set 1 -> done\n2 3 4 delete -> not-found");
    assert_refused("1 1 2 set 1 -> done\n2 3 4 add 2 -> done");
    assert_accepted("1 1 2 set 1 -> done\n2 3 4 read -> value 1");
    // The server that held it was lost, and that is no secret.
    assert_accepted("1 1 2 set 1 -> done\n0 2 ? clear -> unknown\n2 3 4 read -> value -");
    assert_refused(
        "1 1 2 set 1 -> done\n0 2 ? clear -> unknown\n\
         2 3 4 read -> value -\n2 5 6 read -> value 1",
    );
}

#[test]
fn a_reply_that_mixes_two_writes_is_refused() {
    let both = "1 1 9 set 1 -> done\n2 1 9 set 2 -> done\n";
    assert_refused(&format!("{both}3 3 4 read -> value 1+2"));
    assert_refused(&format!("{both}3 3 4 read -> corrupt half of each"));
    assert_accepted(&format!("{both}3 3 4 read -> value 2"));
}

#[test]
fn what_was_deleted_does_not_come_back() {
    let deleted = "1 1 2 set 1 -> done\n1 3 4 delete -> done\n";
    assert_refused(&format!("{deleted}2 5 6 read -> value 1"));
    assert_refused(&format!(
        "{deleted}2 5 6 read -> value -\n2 7 8 read -> value 1"
    ));
    assert_refused(&format!("{deleted}2 5 6 touch -> done"));
    assert_accepted(&format!(
        "{deleted}2 5 6 add 1 -> done\n2 7 8 read -> value 1"
    ));
}

#[test]
fn what_nobody_wrote_is_refused() {
    assert_refused("1 1 2 read -> value 7");
    assert_refused("1 3 4 set 7 -> done\n2 1 2 read -> value 7");
}

#[test]
fn an_unknown_write_takes_effect_once_at_any_time_or_never() {
    let unknown = "1 1 2 set 1 -> done\n2 3 ? delete -> unknown\n";
    assert_accepted(&format!("{unknown}1 5 6 read -> value 1"));
    assert_accepted(&format!(
        "{unknown}1 5 6 read -> value 1\n1 8 9 read -> value -"
    ));
    assert_refused(&format!(
        "{unknown}1 4 5 read -> value -\n1 6 7 set 2 -> done\n1 8 9 read -> value -"
    ));
    // Not before it was asked for.
    assert_refused("1 1 2 set 1 -> done\n1 3 4 read -> value -\n2 5 ? delete -> unknown");
    assert_accepted("1 1 ? set 1 -> unknown\n1 2 3 add 2 -> exists\n1 4 5 read -> value 1");
    assert_accepted("1 1 ? set 1 -> unknown\n1 2 3 add 2 -> exists");
}

#[test]
fn an_unfinished_write_that_was_read_may_be_undone_where_that_is_allowed() {
    let shown = "1 1 2 set 1 -> done\n2 3 ? set 2 -> unknown\n1 4 5 read -> value 2\n";
    assert_refused(&format!("{shown}1 8 9 read -> value 1"));
    let undone = format!("{shown}0 6 ? undo -> unknown\n");
    assert_accepted(&format!("{undone}1 8 9 read -> value 1"));
    assert_accepted(&format!("{undone}1 8 9 read -> value 2"));
    assert_refused(&format!("{undone}1 8 9 read -> value -"));
    // Not before a server was lost, and not what was acknowledged, be it made of the other.
    assert_refused(&format!(
        "{shown}1 6 7 read -> value 1\n0 8 ? undo -> unknown"
    ));
    assert_refused(
        "1 1 2 set 1 -> done\n2 3 4 set 2 -> done\n0 6 ? undo -> unknown\n\
         1 8 9 read -> value 1",
    );
    assert_refused(
        "1 1 2 set 1 -> done\n2 3 ? append 2 -> unknown\n1 4 5 append 3 -> done\n\
         0 6 ? undo -> unknown\n1 7 8 read -> value 1+2+3\n1 9 10 read -> value 1+3",
    );
}

#[test]
fn counts_are_made_once() {
    let zero = "1 1 2 set #0 -> done\n";
    assert_accepted(&format!(
        "{zero}1 3 6 increment 1 -> number 2\n2 3 6 increment 1 -> number 1"
    ));
    assert_refused(&format!(
        "{zero}1 3 6 increment 1 -> number 1\n2 3 6 increment 1 -> number 1"
    ));
    assert_accepted("1 3 6 increment 1 5 -> number 5\n2 7 8 decrement 9 -> number 0");
    assert_refused("1 3 6 increment 1 -> number 5");
    assert_accepted(
        "1 3 6 increment 1 -> not-found\n1 7 8 set 1 -> done\n1 9 10 increment 1 -> not-numeric",
    );
    let unknown = format!("{zero}1 3 ? increment 2 -> unknown\n");
    assert_accepted(&format!("{unknown}2 5 6 increment 1 -> number 3"));
    assert_accepted(&format!("{unknown}2 5 6 increment 1 -> number 1"));
    assert_refused(&format!("{unknown}2 5 6 increment 1 -> number 5"));
}

#[test]
fn pieces_are_joined_once_in_one_order() {
    let base = "1 1 2 set 1 -> done\n1 3 6 append 2 -> done\n2 3 6 prepend 3 -> done\n";
    assert_accepted(&format!("{base}1 7 8 read -> value 3+1+2"));
    assert_refused(&format!("{base}1 7 8 read -> value 1+2"));
    assert_refused(&format!("{base}1 7 8 read -> value 3+1+2+2"));
    assert_accepted("1 1 2 append 1 -> not-stored");
    assert_refused("1 1 2 set 1 -> done\n1 3 4 append 2 -> not-stored");
}

#[test]
fn a_swap_follows_what_was_read() {
    let base = "1 1 2 set 1 -> done\n1 3 4 set 2 -> done\n";
    assert_refused(&format!("{base}1 5 6 swap 1 3 -> done"));
    assert_accepted(&format!(
        "{base}1 5 6 swap 2 3 -> done\n1 7 8 read -> value 3"
    ));
    assert_accepted(&format!("{base}1 5 6 swap 1 3 -> exists"));
    assert_accepted(&format!("{base}1 5 6 swap 2 3 -> exists"));
    assert_refused(&format!("{base}1 5 6 swap 2 3 -> not-found"));
    assert_refused(&format!(
        "{base}1 5 9 swap 2 3 -> done\n2 5 9 swap 2 4 -> done"
    ));
    assert_accepted("1 1 2 replace 3 -> not-found\n1 3 4 swap 1 3 -> not-found");
}

#[test]
fn what_is_shown_of_a_refused_history_is_what_matters() {
    let mut text = String::new();
    for at in 0..40_u64 {
        let (time, value) = (at * 10, at + 100);
        text += &format!("1 {time} {} set {value} -> done\n", time + 2);
        text += &format!("2 {} {} read -> value {value}\n", time + 3, time + 4);
    }
    text += "3 205 206 read -> value 118\n";
    let history = parse(&text).expect("a history");
    assert_eq!(check(&history, STATES_MAX), Verdict::Refused);
    let shown = print(&shrink(&history, STATES_MAX));
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines.contains(&"3 205 206 read -> value 118"), "{shown}");
    assert!(lines.contains(&"1 180 182 set 118 -> done"), "{shown}");
    assert_eq!(lines.len(), 3, "{shown}");
}

#[test]
fn a_history_that_has_an_order_is_shown_whole() {
    let history = parse("1 1 2 set 1 -> done\n2 3 4 read -> value 1").expect("a history");
    assert_eq!(shrink(&history, STATES_MAX), history);
}

#[test]
fn too_many_states_are_no_verdict() {
    let counts = (0..12).map(|at| format!("{at} 1 ? increment {} 0 -> unknown\n", 1 << at));
    let text: String = counts
        .chain(["20 2 3 read -> value #5000".into()])
        .collect();
    let history = parse(&text).expect("a history");
    assert_eq!(check(&history, 100), Verdict::Undecided);
}
