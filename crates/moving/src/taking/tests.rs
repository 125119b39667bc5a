use super::*;

const ME: Option<ServerId> = Some(ServerId(2));

/// Server 2 gets the upper half of the hashes from server 1; `moves` says how far.
fn map(epoch: u64, moves: &str) -> ClusterMap {
    let text = format!(
        "farcache-cluster-map 1\ncluster c\nepoch {epoch}\nplacement slots\n\
        server 1 incarnation=1 weight=1 zone=- state=serving addresses=h1:1\n\
        server 2 incarnation=1 weight=1 zone=- state=joining addresses=h2:1\n\
        slots 1 0-8191\nslots 2 8192-16383\n{moves}end\n"
    );
    text.parse().expect("a map")
}

const LOW: &str = "arc 80000000-bfffffff\n";
const HIGH: &str = "arc c0000000-ffffffff\n";

fn moves(handing: &str, streaming: &str) -> String {
    let of_phase = |arcs: &str, phase: &str| match arcs {
        "" => String::new(),
        arcs => format!("move from=1 to=2 phase={phase}\n{arcs}"),
    };
    of_phase(handing, "handing-over") + &of_phase(streaming, "streaming")
}

fn stages(taking: &Taking) -> Vec<(u64, Stage)> {
    let table = taking.table();
    let streams = table.streams().iter();
    streams
        .map(|stream| (stream.epoch, stream.stage()))
        .collect()
}

#[test]
fn what_was_handed_over_waits_for_an_acknowledgement() {
    let (taking, both) = (Taking::default(), [LOW, HIGH].concat());
    let (one, two) = (map(1, &moves(&both, "")), map(2, &moves("", &both)));
    taking.succeed(None, &one, ME, 0);
    assert!(taking.table().is_empty());
    taking.succeed(Some(&one), &two, ME, 0);
    assert_eq!(stages(&taking), [(2, Stage::Awaiting)]);
    assert!(taking.table().withholds(0x9000_0000));
    assert!(!taking.table().withholds(0x7000_0000));
    taking.table().streams()[0].acknowledge(1, 2);
    assert!(!taking.table().withholds(0x9000_0000));
}

/// Nobody has to ask it twice.
#[test]
fn an_old_owner_that_tells_a_stream_its_map_has_told_as_one_that_may_decide_still() {
    let (taking, from) = (Taking::default().with_fence(100), ServerId(1));
    let one = map(1, &moves(LOW, ""));
    taking.succeed(None, &one, ME, 0);
    assert!(!taking.table().asks(from), "it decides, and is to");
    let have_ended = |it: &Arc<Predecessor>| it.ask_at_ms(500).is_none();
    assert!(taking.table().predecessors().iter().all(have_ended));
    taking.succeed(Some(&one), &map(2, &moves("", LOW)), ME, 1_000);
    let table = taking.table();
    assert!(table.asks(from) && table.awaits_predecessors());
    assert!(!table.on_acknowledged(ServerId(3), 2, 1_001));
    assert!(!table.on_acknowledged(from, 1, 1_001), "by the older map");
    assert!(table.on_acknowledged(from, 2, 1_002));
    assert!(!table.awaits_predecessors());
    assert!(!table.on_acknowledged(from, 2, 1_003), "it has told before");
    table.streams()[0].acknowledge(7, 2);
    assert!(!table.asks(from));
}

#[test]
fn a_server_that_did_not_see_the_map_before_brings_nothing() {
    let (taking, both) = (Taking::default(), [LOW, HIGH].concat());
    taking.succeed(None, &map(2, &moves("", &both)), ME, 0);
    // The old owner may decide still.
    assert_eq!(stages(&taking), [(2, Stage::Awaiting)]);
    assert!(taking.table().withholds(0x9000_0000));
    taking.table().streams()[0].acknowledge(7, 2);
    assert_eq!(stages(&taking), [(2, Stage::Lost)]);
    assert!(!taking.table().withholds(0x9000_0000));
    let place = KeyPlace::new(0x9000_0000, b"k");
    assert!(taking.table().may_bring(place).is_none());
}

#[test]
fn arcs_begin_one_after_the_other_and_those_begun_go_on() {
    let taking = Taking::default();
    let (one, two) = (
        map(1, &moves(HIGH, LOW)),
        map(2, &moves("", &[LOW, HIGH].concat())),
    );
    taking.succeed(
        Some(&map(0, &moves(&[LOW, HIGH].concat(), ""))),
        &one,
        ME,
        0,
    );
    let low = Arc::clone(&taking.table().streams()[0]);
    low.acknowledge(7, 1);
    low.settle(KeyPlace::new(0x9000_0000, b"k"));
    taking.succeed(Some(&one), &two, ME, 0);
    assert_eq!(stages(&taking), [(1, Stage::Moving), (2, Stage::Awaiting)]);
    let table = taking.table();
    assert!(table.may_bring(KeyPlace::new(0x9000_0000, b"k")).is_none());
    assert!(table.may_bring(KeyPlace::new(0x9000_0000, b"j")).is_some());
    assert!(table.withholds(0xd000_0000));
    // The first is complete, and is not listed any more.
    taking.succeed(Some(&two), &map(3, &moves("", HIGH)), ME, 0);
    assert_eq!(low.admit(KeyPlace::new(0x9000_0000, b"j"), 7, || ()), None);
    assert_eq!(stages(&taking), [(2, Stage::Awaiting)]);
    taking.table().streams()[0].acknowledge(7, 3);
    taking.succeed(Some(&map(3, &moves("", HIGH))), &map(4, ""), ME, 0);
    assert!(taking.table().is_empty());
}

#[test]
fn nothing_is_brought_from_who_did_not_decide() {
    let taking = Taking::default();
    // The new owner had the keys already.
    taking.succeed(Some(&map(1, "")), &map(2, &moves("", LOW)), ME, 0);
    taking.table().streams()[0].acknowledge(7, 2);
    assert_eq!(stages(&taking), [(2, Stage::Lost)]);
}

#[test]
fn a_move_that_is_dropped_too_early_still_waits_for_the_old_owner() {
    let taking = Taking::default();
    let (one, two) = (map(1, &moves(LOW, "")), map(2, &moves("", LOW)));
    taking.succeed(Some(&one), &two, ME, 0);
    taking.succeed(Some(&two), &map(3, ""), ME, 0);
    assert!(taking.table().withholds(0x9000_0000));
    let stream = Arc::clone(&taking.table().streams()[0]);
    stream.acknowledge(7, 3);
    assert!(!taking.table().withholds(0x9000_0000));
    let place = KeyPlace::new(0x9000_0000, b"k");
    assert_eq!(stream.admit(place, 7, || ()), None, "it is listed no more");
}
