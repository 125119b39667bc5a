//! How far a change has come: a bar on a terminal, lines elsewhere.

use crate::ask::Reports;
use crate::overview;
use farcache_cluster::ClusterMap;
use farcache_cluster::map::Phase;
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};

/// The bar. It is drawn on the standard error output, where that is a terminal.
pub struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// Nothing has come yet.
    pub fn new() -> Bar {
        let bar = ProgressBar::new(0);
        let style =
            ProgressStyle::with_template("{bar:30} {human_pos} of {human_len} items, {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Bar { bar }
    }

    /// This map was written.
    pub fn wrote(&self, map: &ClusterMap) {
        self.say(&format!("epoch {}: {}", map.epoch().0, stage(map)));
    }

    /// What servers tell of the moves of this map.
    pub fn show(&self, map: &ClusterMap, reports: &Reports) {
        let answering = reports.values().filter_map(|report| report.as_ref().ok());
        let ends = answering.flat_map(|report| report.moves.values());
        let taking = ends.filter(|end| end.role == "taking");
        let (mut come, mut left, mut speed) = (0, 0, 0);
        for end in taking {
            come += end.keys;
            left += end.keys_left;
            speed += end.bytes_per_second;
        }
        self.bar.set_length(come + left);
        self.bar.set_position(come);
        let speed = HumanBytes(speed);
        let behind = overview::catching_up(map, reports).len();
        self.bar.set_message(match behind {
            0 => format!("{speed}/s, {}", stage(map)),
            _ => format!("{speed}/s, {}, {behind} catching up", stage(map)),
        });
    }

    /// Nothing is under way any more.
    pub fn end(&self, map: &ClusterMap, reports: &Reports) {
        self.bar.finish_and_clear();
        self.say(&format!("epoch {} is what servers go by", map.epoch().0));
        for (server, report) in reports {
            if let Err(reason) = report {
                self.say(&format!("but server {server} does not answer: {reason}"));
            }
        }
    }

    /// A line above the bar.
    pub fn say(&self, line: &str) {
        match self.bar.is_hidden() {
            true => eprintln!("{line}"),
            false => self.bar.println(line),
        }
    }
}

/// What is under way by this map.
fn stage(map: &ClusterMap) -> String {
    let moves = &map.content().moves;
    let count = |phase| moves.iter().filter(|moved| moved.phase == phase).count();
    match (count(Phase::HandingOver), count(Phase::Streaming)) {
        (0, 0) => "waiting for servers to follow".to_owned(),
        (0, streaming) => format!("{streaming} streaming"),
        (handing_over, 0) => format!("{handing_over} handing over"),
        (handing_over, streaming) => format!("{handing_over} handing over, {streaming} streaming"),
    }
}
