//! The conversation with another server of the cluster, which asks on behalf of its clients. Each
//! frame has one request, which is carried out as if its client had asked here, but is passed on to
//! nobody: a server that does not own the key says so.

mod own;

use crate::forward::Refusing;
use crate::host::Peering;
use crate::others::Peer;
use crate::replies::{ChangeError, Mark};
use crate::{Auth, Context, HIGH_WATER_BYTES, Replies, Session, Status, binary};
use farcache_peers::frame::{HEAD_BYTES, Head, Kind};
use farcache_peers::greeting::{
    Challenge, HELLO_BYTES, Hello, PROOF_BYTES, Said, Verdict, encode_verdict,
};
use own::Asker;

pub(crate) use farcache_peers::greeting::FIRST_BYTE;

/// Where a conversation with a peer stands.
#[derive(Default)]
pub(crate) struct PeerSession {
    stage: Stage,
    asker: Asker,
    has_changed: bool,
}

#[derive(Default)]
enum Stage {
    /// Nothing has been said.
    #[default]
    Hello,
    /// A proof is wanted.
    Proof(Said),
    /// Between frames.
    Head,
    /// Within a frame with a client's request.
    Body(Body),
    /// Before the body of a frame that the server answers itself.
    Own(Head),
}

struct Body {
    head: Head,
    missing_bytes: usize,
    /// None once it has been answered: what is missing is thrown away.
    session: Option<Session>,
    has_changed: bool,
}

/// What to do after a stage.
enum Flow {
    /// So many bytes are done with; on with this stage.
    Enter(usize, Stage),
    /// So many bytes are done with; return to the driver.
    Stop(usize, Status),
}

impl PeerSession {
    /// A peer that has shown who it is: frames may follow.
    pub(crate) fn let_in(from: Peer) -> PeerSession {
        PeerSession {
            stage: Stage::Head,
            asker: Asker::new(from),
            has_changed: false,
        }
    }

    /// Handles the input; returns how many bytes of it are done with.
    pub(crate) fn advance(
        &mut self,
        input: &[u8],
        context: &Context<'_>,
        replies: &mut Replies,
    ) -> (usize, Status) {
        let mut used = 0;
        loop {
            let rest = &input[used..];
            let flow = match &mut self.stage {
                Stage::Hello => greet(rest, context, replies, &mut self.asker),
                Stage::Proof(said) => prove(rest, said, context, replies),
                Stage::Head => begin(rest, context, replies),
                Stage::Body(body) => {
                    let flow = body.advance(rest, context, replies);
                    self.has_changed |= std::mem::take(&mut body.has_changed);
                    flow
                }
                Stage::Own(head) => own::answer(rest, *head, &mut self.asker, context, replies),
            };
            match flow {
                Flow::Enter(bytes, stage) => {
                    used += bytes;
                    self.stage = stage;
                }
                Flow::Stop(bytes, status) => return (used + bytes, status),
            }
        }
    }

    /// Where the next bytes of the value now arriving go; empty when none is.
    pub(crate) fn value_buffer(&mut self) -> &mut [u8] {
        match &mut self.stage {
            Stage::Body(Body {
                session: Some(session),
                missing_bytes,
                ..
            }) => {
                let buffer = session.value_buffer();
                let bytes = buffer.len().min(*missing_bytes);
                &mut buffer[..bytes]
            }
            _ => &mut [],
        }
    }

    /// The driver has read this many bytes into the value buffer.
    pub(crate) fn value_received(&mut self, bytes: usize) {
        if let Stage::Body(Body {
            session: Some(session),
            missing_bytes,
            ..
        }) = &mut self.stage
        {
            *missing_bytes -= bytes;
            session.value_received(bytes);
        }
    }

    /// Whether anything may have been changed since the last call.
    pub(crate) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.has_changed)
    }
}

fn close(context: &Context<'_>) -> Flow {
    context.counters.protocol_errors.bump();
    Flow::Stop(0, Status::Close)
}

/// A peer says who it is.
fn greet(input: &[u8], context: &Context<'_>, replies: &mut Replies, asker: &mut Asker) -> Flow {
    let Some(bytes) = input.first_chunk::<HELLO_BYTES>() else {
        return Flow::Stop(0, Status::NeedInput);
    };
    let Some(peering) = context.host.peering() else {
        return close(context);
    };
    let verdict = match Hello::decode(bytes) {
        Ok(hello) => {
            *asker = Asker::new(Peer(hello.from));
            verdict(&hello, &peering, context.service.auth)
        }
        Err(Some(refusal)) => refusal,
        Err(None) => return close(context),
    };
    let challenge = Challenge {
        verdict,
        server: peering.server,
        epoch: peering.epoch,
        nonce: peering.nonce,
    };
    let secret = peering.secret.filter(|_| verdict == Verdict::Prove);
    let (bytes, said) = challenge.encode(bytes, secret);
    replies.buffer().extend_from_slice(&bytes);
    match verdict {
        Verdict::Welcome => Flow::Enter(HELLO_BYTES, Stage::Head),
        Verdict::Prove => Flow::Enter(HELLO_BYTES, Stage::Proof(said)),
        _ => {
            context.note_failed_login();
            Flow::Stop(HELLO_BYTES, Status::Close)
        }
    }
}

fn verdict(hello: &Hello, peering: &Peering<'_>, auth: Auth) -> Verdict {
    // What comes from peers has been let in elsewhere: where clients authenticate, they prove it.
    let trusts_neighbours = peering.is_near && auth == Auth::Open;
    match () {
        () if hello.cluster != peering.cluster => Verdict::OtherCluster,
        () if hello.to != peering.server => Verdict::OtherServer,
        () if peering.secret.is_some() => Verdict::Prove,
        () if trusts_neighbours => Verdict::Welcome,
        () => Verdict::NoSecret,
    }
}

/// A peer shows that it knows the secret.
fn prove(input: &[u8], said: &Said, context: &Context<'_>, replies: &mut Replies) -> Flow {
    let Some(proof) = input.first_chunk::<PROOF_BYTES>() else {
        return Flow::Stop(0, Status::NeedInput);
    };
    let peering = context.host.peering();
    let secret = peering.and_then(|peering| peering.secret);
    let verdict = match secret.is_some_and(|secret| secret.is_proof(proof, said)) {
        true => Verdict::Welcome,
        false => Verdict::WrongProof,
    };
    replies.buffer().extend_from_slice(&encode_verdict(verdict));
    if verdict != Verdict::Welcome {
        context.note_failed_login();
        return Flow::Stop(PROOF_BYTES, Status::Close);
    }
    Flow::Enter(PROOF_BYTES, Stage::Head)
}

/// A frame begins.
fn begin(input: &[u8], context: &Context<'_>, replies: &Replies) -> Flow {
    if replies.len() >= HIGH_WATER_BYTES {
        return Flow::Stop(0, Status::Yield);
    }
    let Some(bytes) = input.first_chunk::<HEAD_BYTES>() else {
        return Flow::Stop(0, Status::NeedInput);
    };
    let Some(head) = Head::decode(bytes).filter(is_question) else {
        return close(context);
    };
    match head.kind {
        Kind::Request => context.counters.forwarded_here.bump(),
        Kind::OnBehalf => {}
        _ => return Flow::Enter(HEAD_BYTES, Stage::Own(head)),
    }
    let body = Body {
        head,
        missing_bytes: head.body_bytes as usize,
        session: Some(Session::default()),
        has_changed: false,
    };
    Flow::Enter(HEAD_BYTES, Stage::Body(body))
}

/// Whether a peer may ask by a frame with this head.
fn is_question(head: &Head) -> bool {
    match head.kind {
        Kind::Request | Kind::OnBehalf => head.body_bytes > 0,
        Kind::Acknowledge => head.body_bytes == 0,
        Kind::Fetch | Kind::Pull | Kind::Fabric => {
            (1..=own::BODY_BYTES_MAX).contains(&head.body_bytes)
        }
        _ => false,
    }
}

impl Body {
    fn advance(&mut self, input: &[u8], context: &Context<'_>, replies: &mut Replies) -> Flow {
        let bytes = &input[..input.len().min(self.missing_bytes)];
        let (used, status) = match self.session.take() {
            None => (bytes.len(), Status::NeedInput),
            Some(session) => match self.run(session, bytes, context, replies) {
                Ok(ran) => ran,
                Err(used) => return Flow::Stop(used, Status::Close),
            },
        };
        self.missing_bytes -= used;
        let is_done = self.session.is_none() && self.missing_bytes == 0;
        match status {
            Status::NeedInput if is_done => Flow::Enter(used, Stage::Head),
            status => Flow::Stop(used, status),
        }
    }

    /// Has the session take the bytes, and puts what it replies into a frame. Keeps the session
    /// unless it has answered.
    ///
    /// # Errors
    /// How many bytes were used, where the frame does not hold one whole request.
    fn run(
        &mut self,
        mut session: Session,
        bytes: &[u8],
        context: &Context<'_>,
        replies: &mut Replies,
    ) -> Result<(usize, Status), usize> {
        if let (crate::Conversation::Undecided(_), Some(&first)) =
            (&session.conversation, bytes.first())
        {
            session = match first {
                binary::FIRST_BYTE => Session::authenticated(),
                _ => Session::authenticated_text(),
            };
        }
        let Some(forward) = context.forward else {
            return Err(0);
        };
        let refusing = match self.head.kind {
            // What a client is not shown, it is not shown by way of another server either.
            Kind::OnBehalf => Refusing::new(forward),
            _ => Refusing::of_peer(forward),
        };
        let context = Context {
            forward: Some(&refusing),
            // Other clients' requests come behind this one, and their server waits for a short time
            // only.
            turn: None,
            ..*context
        };
        let mark = replies.mark();
        replies.buffer().extend_from_slice(&[0; HEAD_BYTES]);
        let (used, status) = session.advance(bytes, &context, replies);
        self.has_changed |= session.take_changed();
        let epoch = forward.epoch();
        if refusing.has_refused.get() {
            context.counters.forwards_refused.bump();
            replies.roll_back(mark);
            replies.buffer().extend_from_slice(&[0; HEAD_BYTES]);
            self.finish(Kind::NotOwner, epoch, mark, replies);
            return Ok((used, Status::NeedInput));
        }
        let is_whole = bytes.len() == self.missing_bytes;
        let is_end = used == self.missing_bytes;
        match status {
            Status::NeedInput if is_end => {
                self.finish(Kind::Reply, epoch, mark, replies);
                replies.join_changes(
                    mark,
                    ChangeError::Frame {
                        number: self.head.number,
                        epoch,
                    },
                );
                return Ok((used, status));
            }
            // The client's request makes no sense, and its connection stays as it is.
            Status::Close => {
                self.finish(Kind::Reply, epoch, mark, replies);
                return Ok((used, Status::NeedInput));
            }
            Status::NeedInput | Status::ValueWanted if is_whole => return Err(used),
            _ => {}
        }
        match replies.bytes_since(mark) {
            HEAD_BYTES => replies.roll_back(mark),
            _ => self.finish(Kind::Part, epoch, mark, replies),
        }
        self.session = Some(session);
        Ok((used, status))
    }

    /// Writes the head of a frame before what was replied since the mark.
    fn finish(&self, kind: Kind, epoch: u64, mark: Mark, replies: &mut Replies) {
        let body_bytes = replies.bytes_since(mark) - HEAD_BYTES;
        let head = Head {
            kind,
            number: self.head.number,
            epoch,
            body_bytes: body_bytes as u32,
        };
        replies.write_at(mark, &head.encode());
    }
}
