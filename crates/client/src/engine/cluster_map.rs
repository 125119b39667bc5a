//! The map of the servers' cluster: a newer one is asked for once a second, and followed.

use super::server::Server;
use super::{Engine, Ticket};
use crate::operation::{Delivery, Operation, Reply, Route};
use farcache_cluster::ClusterMap;
use std::time::Duration;

/// How often a server is asked for a newer map, where the client is used. Until then servers pass
/// requests on, or refuse those whose keys must lie by the map.
const ASKED_US: u64 = 1_000_000;

/// The same where a server has failed, which a newer map may replace.
const ASKED_AFTER_FAILURE_US: u64 = 100_000;

/// The question for a newer map.
#[derive(Debug, Default)]
pub(super) struct Question {
    under_way: Option<Ticket>,
    asked_us: u64,
    /// Who was asked last.
    server: usize,
    /// Something has been asked of servers since.
    pub(super) is_due: bool,
    /// A server has failed since.
    pub(super) is_urgent: bool,
}

impl Engine {
    /// Goes by this map from now on, if it is newer than the one that is known.
    pub fn follow(&mut self, map: ClusterMap) {
        self.routing.follow(map);
        let count = self.routing.servers().len();
        self.servers.resize_with(count, Server::new);
    }

    /// Asks for a newer map, if it is time to, and goes by the one that has come.
    pub(super) fn look_for_map(&mut self) {
        self.take_map();
        let known_edition = self.routing.edition();
        if known_edition == 0 {
            return;
        }
        let question = &self.question;
        let pause_us = match question.is_urgent {
            true => ASKED_AFTER_FAILURE_US,
            false => ASKED_US,
        };
        let is_time = self.now_us.saturating_sub(question.asked_us) >= pause_us;
        if !is_time || !question.is_due || question.under_way.is_some() {
            return;
        }
        let count = self.servers.len();
        let mut others = (1..=count).map(|offset| (question.server + offset) % count);
        let is_there = |server: &usize| self.servers[*server].is_connected();
        let Some(server) = others.find(is_there) else {
            return;
        };
        let delivery = Delivery {
            route: Route::Server(server),
            // Then another one is asked.
            timeout: Some(Duration::from_micros(ASKED_US)),
        };
        let operation = Operation::ClusterMap { known_edition };
        let ticket = self.submit(operation, delivery, self.now_us);
        self.question = Question {
            under_way: Some(ticket),
            asked_us: self.now_us,
            server,
            is_due: false,
            is_urgent: false,
        };
    }

    /// Goes by the map that has come, if one has.
    pub(super) fn take_map(&mut self) {
        let Some(ticket) = self.question.under_way else {
            return;
        };
        let Some(completion) = self.fetch(ticket) else {
            return;
        };
        self.question.under_way = None;
        if let Ok(reply) = completion.outcome {
            self.heed(&reply);
        }
    }

    /// Goes by the map that a server has told of, if there is one in its reply.
    pub(crate) fn heed(&mut self, reply: &Reply) {
        if let Reply::Text(text) = reply
            && let Ok(map) = text.parse()
        {
            self.follow(map);
        }
    }
}
