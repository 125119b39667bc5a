//! What is to go wrong.

/// What happens to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It never arrives. A body offered by it is never let go before its peer is closed.
    Drop,
    /// It waits until [`Network::release`](super::Network::release).
    Hold,
    /// It arrives twice.
    Duplicate,
    /// Only so many bytes of its body arrive, which its frame does not say.
    TruncateBody(usize),
    /// Only so many bytes of its frame and head arrive.
    TruncateFront(usize),
    /// It arrives, but a body that it offers does not, before
    /// [`Network::release`](super::Network::release).
    HoldBody,
    /// It does not arrive, and both ends lose each other.
    Fail,
}

/// Which messages an action is for, counted from the moment that the rule is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Address of the sending port; any where there is none.
    pub from: Option<Vec<u8>>,
    /// Address of the receiving port; any where there is none.
    pub to: Option<Vec<u8>>,
    /// So many messages pass first.
    pub skip: usize,
    /// So many are met after that.
    pub count: usize,
    /// What happens to these.
    pub action: Action,
}

impl Rule {
    /// A rule for every message between all ports.
    pub fn all(action: Action) -> Rule {
        Rule {
            from: None,
            to: None,
            skip: 0,
            count: usize::MAX,
            action,
        }
    }

    /// Restricts the rule to messages from this port.
    pub fn from(self, address: &[u8]) -> Rule {
        Rule {
            from: Some(address.to_vec()),
            ..self
        }
    }

    /// Restricts the rule to messages to this port.
    pub fn to(self, address: &[u8]) -> Rule {
        Rule {
            to: Some(address.to_vec()),
            ..self
        }
    }

    /// Has the rule begin after so many messages have passed.
    pub fn skip(self, skip: usize) -> Rule {
        Rule { skip, ..self }
    }

    /// Has the rule end after so many messages.
    pub fn count(self, count: usize) -> Rule {
        Rule { count, ..self }
    }

    /// Counts a message; whether it is met.
    fn meets(&mut self, from: &[u8], to: &[u8]) -> bool {
        let is_for = |wanted: &Option<Vec<u8>>, address: &[u8]| {
            wanted.as_ref().is_none_or(|wanted| wanted == address)
        };
        if !is_for(&self.from, from) || !is_for(&self.to, to) {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        let is_met = self.count > 0;
        self.count = self.count.saturating_sub(1);
        is_met
    }
}

/// What happens to the next message between these ports: the first rule that meets it decides.
pub(super) fn decide(rules: &mut [Rule], from: &[u8], to: &[u8]) -> Option<Action> {
    rules
        .iter_mut()
        .find_map(|rule| rule.meets(from, to).then_some(rule.action))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_skips_counts_and_ends() {
        let mut rules = [Rule::all(Action::Drop).from(b"a").skip(1).count(2)];
        let mut next = |from: &[u8]| decide(&mut rules, from, b"z");
        let met: Vec<_> = [b"a", b"b", b"a", b"b", b"a", b"a"]
            .map(|from| next(from).is_some())
            .into();
        assert_eq!(met, [false, false, true, false, true, false]);
    }

    #[test]
    fn the_first_rule_that_meets_decides() {
        let mut rules = [
            Rule::all(Action::Hold).to(b"b").count(1),
            Rule::all(Action::Drop),
        ];
        assert_eq!(decide(&mut rules, b"a", b"b"), Some(Action::Hold));
        assert_eq!(decide(&mut rules, b"a", b"b"), Some(Action::Drop));
        assert_eq!(decide(&mut [], b"a", b"b"), None);
    }
}
