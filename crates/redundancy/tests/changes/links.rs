//! Which agent reaches which server. A cut holds back what is sent until it ends, as TCP does.

use crate::random::Random;

/// Directions in which nothing arrives, each an agent and a server.
#[derive(Default)]
pub struct Links {
    /// So many of the first agents are servers, each the one with its own number: its own part is
    /// never out of its reach.
    coders: usize,
    requests: Vec<(usize, usize)>,
    replies: Vec<(usize, usize)>,
}

impl Links {
    pub fn of_coders(coders: usize) -> Links {
        Links {
            coders,
            ..Links::default()
        }
    }

    pub fn is_request_cut(&self, agent: usize, server: usize) -> bool {
        self.requests.contains(&(agent, server))
    }

    pub fn is_reply_cut(&self, agent: usize, server: usize) -> bool {
        self.replies.contains(&(agent, server))
    }

    /// Whether this agent is this server.
    pub fn is_own(&self, agent: usize, server: usize) -> bool {
        agent == server && agent < self.coders
    }

    /// Cuts an agent off from all other servers, or one of them: both ways, or one.
    pub fn cut(&mut self, random: &mut Random, servers: usize) -> String {
        let agent = random.below(crate::world::AGENTS);
        let only = random.once_in(2).then(|| random.below(servers));
        let (cuts_requests, cuts_replies) = match random.below(3) {
            0 => (true, false),
            1 => (false, true),
            _ => (true, true),
        };
        let others = (0..servers).filter(|server| only.is_none_or(|only| only == *server));
        for server in others {
            if self.is_own(agent, server) {
                continue;
            }
            self.requests
                .extend(cuts_requests.then_some((agent, server)));
            self.replies.extend(cuts_replies.then_some((agent, server)));
        }
        format!("agent {agent} is cut off from {only:?}, {cuts_requests} {cuts_replies}")
    }

    /// Everybody reaches everybody again.
    pub fn heal(&mut self) -> &'static str {
        self.requests.clear();
        self.replies.clear();
        "all cuts end"
    }
}
