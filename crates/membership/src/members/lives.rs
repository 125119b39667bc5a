//! Which life of the server this process is, and when its items are void.
//!
//! Others own the keys of a server that the map gives up. So it drops its items, and offers itself
//! anew in a later life: once before the offer, and once when the map lists that life, as clients
//! with older maps may have stored some in between.

use farcache_cluster::map::{Incarnation, Member, MemberState};

/// The lives of one server, as its process knows them.
#[derive(Debug, Default)]
pub(super) struct Lives {
    /// Which one this is, once that is settled.
    current: Option<Incarnation>,
    /// The latest life that was given up.
    given_up: Incarnation,
    /// The life that was offered last. Where the reply was lost, others may have known this server
    /// by it, and have given it up, before the next one is offered.
    tried: Option<Incarnation>,
    /// Another process has taken this server's address.
    is_replaced: bool,
    /// Items are to be dropped before the next offer.
    must_forget: bool,
    /// Items are to be dropped when a map lists this life, too.
    must_forget_on_entry: bool,
}

/// What others know of the server's lives: the latest in each place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// Under the key that counts them.
    pub counted: Option<u64>,
    /// In the offer that is there.
    pub offered: Option<Incarnation>,
    /// In the map in force.
    pub listed: Option<Incarnation>,
}

impl Lives {
    pub fn current(&self) -> Option<Incarnation> {
        self.current
    }

    pub fn is_replaced(&self) -> bool {
        self.is_replaced
    }

    /// The store has taken the offer of this life.
    pub fn settle(&mut self, life: Incarnation) {
        self.current = Some(life);
    }

    /// An offer of this life is under the server's address, made by this very process or not.
    pub fn observe(&mut self, offered: Incarnation, is_own: bool) {
        let known = self.current.unwrap_or(self.given_up);
        if offered <= known {
            return;
        }
        match is_own {
            // The reply to the offer was lost.
            true => self.current = Some(offered),
            // At first, whoever has the address is the one before.
            false => self.is_replaced |= known != Incarnation(0),
        }
    }

    /// Ends the life where others may own the server's keys: the map lists it as gone, or in a
    /// later life.
    pub fn end_if_given_up(&mut self, listed: Option<&Member>) {
        let Some(life) = self.current else {
            return;
        };
        let is_given_up = listed.is_some_and(|member| {
            let is_gone = member.state == MemberState::Gone;
            member.incarnation > life || member.incarnation == life && is_gone
        });
        if is_given_up {
            self.current = None;
            self.given_up = life;
            self.must_forget = true;
        }
    }

    /// Whether items are to be dropped before anything is offered; said once.
    pub fn forgets_before_offer(&mut self) -> bool {
        let must = std::mem::take(&mut self.must_forget);
        self.must_forget_on_entry |= must;
        must
    }

    /// The life to offer: the current one, or one later than any that is known.
    pub fn to_offer(&self, known: Known) -> Incarnation {
        let latest = [
            known.counted,
            known.offered.map(|life| life.0),
            known.listed.map(|life| life.0),
            Some(self.given_up.0),
        ];
        let next = || Incarnation(latest.into_iter().flatten().max().unwrap_or(0) + 1);
        self.current.unwrap_or_else(next)
    }

    /// Whether items are to be dropped before this life is offered; said once. Else it counts as
    /// offered.
    pub fn forgets_before_trying(&mut self, life: Incarnation) -> bool {
        if self.tried.is_some_and(|tried| tried < life) && !self.must_forget_on_entry {
            self.must_forget_on_entry = true;
            return true;
        }
        self.tried = Some(life);
        false
    }

    /// Whether items are to be dropped now that a map lists this life; said once.
    pub fn forgets_on_entry(&mut self) -> bool {
        std::mem::take(&mut self.must_forget_on_entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farcache_cluster::ServerId;

    fn known(counted: u64, offered: u64, listed: u64) -> Known {
        Known {
            counted: Some(counted),
            offered: Some(Incarnation(offered)),
            listed: Some(Incarnation(listed)),
        }
    }

    fn member(life: u64, state: MemberState) -> Member {
        Member {
            id: ServerId(1),
            incarnation: Incarnation(life),
            addresses: Vec::new(),
            weight: 1,
            zone: None,
            state,
        }
    }

    fn living(life: u64) -> Lives {
        let mut lives = Lives::default();
        lives.settle(Incarnation(life));
        lives
    }

    #[test]
    fn a_new_life_is_later_than_any_that_is_known() {
        let lives = Lives::default();
        assert_eq!(lives.to_offer(Known::default()), Incarnation(1));
        for known in [known(7, 2, 3), known(2, 7, 3), known(2, 3, 7)] {
            assert_eq!(lives.to_offer(known), Incarnation(8));
        }
        assert_eq!(living(4).to_offer(known(7, 2, 3)), Incarnation(4));
    }

    #[test]
    fn a_life_that_is_given_up_ends_and_its_items_are_dropped_twice() {
        let (gone, up) = (MemberState::Gone, MemberState::Serving);
        for (listed, is_over) in [
            (None, false),
            (Some(member(4, up)), false),
            (Some(member(3, gone)), false),
            (Some(member(4, gone)), true),
            (Some(member(5, up)), true),
        ] {
            let mut lives = living(4);
            lives.end_if_given_up(listed.as_ref());
            assert_eq!(lives.current().is_none(), is_over, "{listed:?}");
            assert_eq!(lives.forgets_before_offer(), is_over);
            assert!(!lives.forgets_before_offer(), "it is said once");
            assert_eq!(lives.forgets_on_entry(), is_over);
            assert!(!lives.forgets_on_entry(), "it is said once");
            let next = if is_over { 5 } else { 4 };
            assert_eq!(lives.to_offer(Known::default()), Incarnation(next));
        }
    }

    #[test]
    fn a_later_life_under_the_address_is_this_one_or_has_replaced_it() {
        let mut lives = living(4);
        lives.observe(Incarnation(4), false);
        assert!(!lives.is_replaced(), "it is known");
        lives.observe(Incarnation(5), true);
        assert_eq!(lives.current(), Some(Incarnation(5)), "a reply was lost");
        lives.observe(Incarnation(6), false);
        assert!(lives.is_replaced());
        // Who begins finds the one before.
        let mut first = Lives::default();
        first.observe(Incarnation(9), false);
        assert!(!first.is_replaced());
    }

    #[test]
    fn items_are_dropped_where_an_earlier_offer_may_have_been_taken() {
        let mut lives = Lives::default();
        assert!(!lives.forgets_before_trying(Incarnation(1)));
        assert!(!lives.forgets_before_trying(Incarnation(1)), "the same");
        assert!(lives.forgets_before_trying(Incarnation(2)));
        assert!(!lives.forgets_before_trying(Incarnation(2)), "it was done");
        assert!(lives.forgets_on_entry());
    }
}
