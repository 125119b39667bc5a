use super::*;
use proptest::prelude::*;

const LIMITS: Limits = Limits {
    requests_max: 4,
    request_bytes_max: 100,
    reply_bytes_max: 50,
};

fn link(requests: u32) -> Link<u32> {
    let mut link = Link::new(LIMITS);
    for tag in 0..requests {
        link.ask(Kind::Request, tag, 1, 10, u64::from(tag))
            .expect("room");
    }
    link
}

fn frame(kind: Kind, number: u32, body: &[u8]) -> Vec<u8> {
    let head = Head {
        kind,
        number,
        epoch: 9,
        body_bytes: body.len() as u32,
    };
    [&head.encode()[..], body].concat()
}

fn received(link: &mut Link<u32>, input: &[u8]) -> Result<Vec<(u32, Answer)>, Broken> {
    let mut answers = Vec::new();
    link.receive(input, |tag, answer| answers.push((tag, answer)))?;
    Ok(answers)
}

#[test]
fn a_request_is_numbered_and_sent_with_the_epoch() {
    let mut link = link(1);
    let head = link.ask(Kind::Request, 1, 7, 11, 0).expect("room");
    let expected = Head {
        kind: Kind::Request,
        number: 1,
        epoch: 7,
        body_bytes: 11,
    };
    assert_eq!(head, expected.encode());
}

#[test]
fn no_more_is_outstanding_than_may_be() {
    let mut link = link(4);
    assert_eq!(link.ask(Kind::Request, 9, 1, 1, 0), Err(Full));
    received(&mut link, &frame(Kind::Reply, 0, b"")).expect("a reply");
    assert!(link.ask(Kind::Request, 9, 1, 70, 0).is_ok());
    received(&mut link, &frame(Kind::Reply, 1, b"")).expect("a reply");
    assert_eq!(
        link.ask(Kind::Request, 9, 1, 11, 0),
        Err(Full),
        "90 and 11 bytes are too many"
    );
    // However long: it would never be sent otherwise.
    assert!(Link::new(LIMITS).ask(Kind::Request, 0, 1, 101, 0).is_ok());
}

#[test]
fn an_answer_goes_to_who_asked() {
    let mut link = link(4);
    let input = [
        frame(Kind::Part, 0, b"a"),
        frame(Kind::Reply, 0, b"b"),
        frame(Kind::NotOwner, 1, b""),
        frame(Kind::NotDurable, 2, b""),
        frame(Kind::Reply, 3, &[b'x'; 51]),
    ];
    let expected = vec![
        (0, Answer::Reply(b"ab".to_vec())),
        (1, Answer::NotOwner(9)),
        (2, Answer::NotDurable),
        (3, Answer::TooLarge),
    ];
    assert_eq!(received(&mut link, &input.concat()), Ok(expected));
    assert_eq!(link.outstanding(), 0);
}

#[test]
fn answers_may_come_in_any_order_and_in_parts() {
    let mut link = link(4);
    let input = [
        frame(Kind::Part, 2, b"a"),
        frame(Kind::Reply, 1, b"one"),
        frame(Kind::Reply, 2, b"b"),
    ];
    let expected = vec![
        (1, Answer::Reply(b"one".to_vec())),
        (2, Answer::Reply(b"ab".to_vec())),
    ];
    assert_eq!(received(&mut link, &input.concat()), Ok(expected));
    assert_eq!(link.next_deadline_ms(), Some(0));
    let expected = vec![(0, Answer::Reply(Vec::new()))];
    assert_eq!(
        received(&mut link, &frame(Kind::Reply, 0, b"")),
        Ok(expected)
    );
    assert_eq!(link.outstanding(), 1);
    // A request is answered once.
    for number in 0..3 {
        let mut again = super::tests::link(4);
        let input = [
            frame(Kind::Reply, number, b""),
            frame(Kind::Reply, number, b""),
        ];
        assert_eq!(
            received(&mut again, &input.concat()),
            Err(Broken),
            "{number}"
        );
    }
}

#[test]
fn who_has_given_up_gets_nothing_and_the_others_get_theirs() {
    let mut link = link(3);
    let mut expired = Vec::new();
    assert_eq!(link.next_deadline_ms(), Some(0));
    link.expire(1, |tag| expired.push(tag));
    assert_eq!((expired, link.next_deadline_ms()), (vec![0, 1], Some(2)));
    let input = [0, 1, 2].map(|number| frame(Kind::Reply, number, b"late"));
    let expected = vec![(2, Answer::Reply(b"late".to_vec()))];
    assert_eq!(received(&mut link, &input.concat()), Ok(expected));
}

#[test]
fn an_end_is_told_to_all_who_wait() {
    let mut link = link(3);
    received(&mut link, &frame(Kind::Part, 0, b"half")[..26]).expect("a beginning");
    link.expire(0, |_| {});
    let mut ended = Vec::new();
    link.end(|tag| ended.push(tag));
    assert_eq!((ended, link.outstanding()), (vec![1, 2], 0));
    link.ask(Kind::Request, 7, 1, 1, 0).expect("room");
    let expected = vec![(7, Answer::Reply(b"new".to_vec()))];
    assert_eq!(
        received(&mut link, &frame(Kind::Reply, 3, b"new")),
        Ok(expected)
    );
}

#[test]
fn what_no_server_sends_breaks_the_connection() {
    for input in [
        frame(Kind::Reply, 2, b""),
        frame(Kind::Reply, u32::MAX, b""),
        frame(Kind::Request, 0, b""),
        frame(Kind::Fabric, 0, b""),
        frame(Kind::Pull, 0, b""),
        frame(Kind::NotOwner, 0, b"x"),
        vec![0; HEAD_BYTES],
    ] {
        assert_eq!(received(&mut link(2), &input), Err(Broken), "{input:?}");
    }
    assert_eq!(
        received(&mut link(0), &frame(Kind::Reply, 0, b"")),
        Err(Broken)
    );
}

proptest! {
    #[test]
    fn how_bytes_are_cut_makes_no_difference(
        bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..4),
        cuts in prop::collection::vec(1_usize..40, 1..60),
    ) {
        let frames = bodies.iter().enumerate();
        let frames = frames.map(|(number, body)| frame(Kind::Reply, number as u32, body));
        let input: Vec<u8> = frames.flatten().collect();
        let whole = received(&mut link(4), &input);
        let (mut cut_link, mut rest, mut answers) = (link(4), &input[..], Vec::new());
        for cut in cuts.iter().cycle() {
            let (piece, later) = rest.split_at((*cut).min(rest.len()));
            answers.extend(received(&mut cut_link, piece).expect("as before"));
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(whole, Ok(answers));
    }
}
