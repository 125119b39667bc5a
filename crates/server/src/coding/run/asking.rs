//! What a plan asks of owners, and what comes of it.

use super::{OWNERS_PAUSE, Repeated, Run, UnderWay};
use crate::coding::cargo::Taken;
use crate::coding::{PartTag, Sent, Tools, Way};
use farcache_proto::binary;
use farcache_redundancy::Version;
use farcache_redundancy::plan::{self, Event, Question, RequestId};
use farcache_session::Failure;
use std::time::{Duration, Instant};

impl Run {
    /// An owner gives the key to others. Where this server knows of them by now the plan goes on
    /// with these; else the owner is asked again after a pause, until both have the same map.
    pub(super) fn find_owners(&mut self, refused: &UnderWay, way: &mut dyn Way, now: Instant) {
        let UnderWay {
            asked, repeated, ..
        } = *refused;
        let (owners, placed) = way.place(&self.key, self.placed.owners);
        let is_new = placed.sum != self.placed.sum;
        self.placed = placed;
        if is_new {
            self.refused.clear();
            self.pausing.clear();
            self.owners.replace(owners.iter().copied());
            self.events.push_back(self.owners.event_of_new());
        } else if asked.question.is_read() && OWNERS_PAUSE * repeated > self.part_time {
            self.events.push_back(Event::Lost(asked.id));
        } else {
            self.pausing.push(Repeated {
                asked,
                at: now + OWNERS_PAUSE,
                repeated: repeated + 1,
            });
        }
    }

    pub(super) fn ask(
        &mut self,
        asked: plan::Request,
        repeated: u32,
        tools: &mut Tools,
        way: &mut dyn Way,
        now: Instant,
    ) {
        if let Question::Complete(version) = asked.question {
            return tools.telling.push(asked.to, version, now);
        }
        if self.owners.is_down(asked.to) {
            return self.events.push_back(self.owners.event_of_down(&asked));
        }
        let tag = PartTag {
            id: asked.id,
            ..self.tag
        };
        let Tools {
            workshop, telling, ..
        } = tools;
        // It is asked something anyway.
        let told = || binary::Told {
            complete: telling.take(asked.to).map_or(0, Version::bits),
            placed: Some(self.placed),
        };
        let packet = (self.cargo).packet(&self.key, asked.question, workshop, told);
        let Some(packet) = packet else {
            // It is about bytes that are not at hand.
            return self.events.push_back(Event::Lost(asked.id));
        };
        let sent = way.ask(asked.to, tag, &packet.pieces());
        let mut one = UnderWay {
            asked,
            deadline: self.deadline,
            owners_sum: self.placed.sum,
            repeated,
        };
        match sent {
            Ok(Sent::UnderWay) => {
                let is_read = matches!(asked.question, Question::Read(_) | Question::Beneath(_));
                let time = if is_read {
                    self.part_time
                } else {
                    Duration::MAX
                };
                one.deadline = now.checked_add(time).unwrap_or(self.deadline);
                self.under_way.push(one);
            }
            Ok(Sent::Answered(answer)) => self.take(one, Ok(answer)),
            Err(failure) => self.take(one, Err(failure)),
        }
    }

    /// An owner has answered, or will not.
    pub fn answer(&mut self, id: RequestId, answer: Result<Vec<u8>, Failure>) {
        let mut under_way = self.under_way.iter();
        if let Some(at) = under_way.position(|one| one.asked.id == id) {
            let one = self.under_way.swap_remove(at);
            self.take(one, answer);
        }
    }

    fn take(&mut self, one: UnderWay, answer: Result<Vec<u8>, Failure>) {
        let asked = &one.asked;
        let answer = match answer {
            Ok(answer) => answer,
            Err(Failure::NobodyThere) => return self.note_down(asked),
            Err(_) => return self.events.push_back(Event::Lost(asked.id)),
        };
        let event = match self.cargo.take(asked, &answer) {
            Taken::Reply(reply) => Event::Reply(asked.id, reply),
            Taken::Elsewhere if one.owners_sum == self.placed.sum => {
                return self.refused.push(one);
            }
            Taken::Elsewhere | Taken::Nothing => Event::Lost(asked.id),
        };
        self.events.push_back(event);
    }

    /// Nobody listens at an owner's address: its process has ended, and its memory with it.
    fn note_down(&mut self, asked: &plan::Request) {
        self.owners.note_down(asked.to);
        self.events.push_back(self.owners.event_of_down(asked));
    }
}
