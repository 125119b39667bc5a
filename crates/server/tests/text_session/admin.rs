//! Operators' commands and dumps.

use crate::{Server, golden};
use farcache_server::settings::Settings;
use farcache_session::{Session, Status};
use farcache_store::StoreConfig;

golden! {
    verbosity: "verbosity 1\r\nverbosity\r\nverbosity x\r\n"
        => "OK\r\nCLIENT_ERROR bad command line format\r\nCLIENT_ERROR bad command line format\r\n";
    memory_limit: "cache_memlimit 64\r\ncache_memlimit\r\ncache_memlimit x\r\ncache_memlimit 4\r\ncache_memlimit 1000000001\r\n"
        => "OK\r\nERROR\r\nERROR\r\nMEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n\
            MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes\r\n";
    shutdown_is_off: "shutdown\r\nshutdown x\r\nshutdown noreply\r\n" => "SERVER_ERROR: shutdown not enabled\r\n".repeat(2);
    automove: "slabs automove ratio 0.8\r\nslabs automove freeratio 0.01\r\nslabs automove window 30\r\nslabs automove window 2\r\n\
        slabs automove window x\r\nslabs automove ratio x\r\n"
        => "OK\r\nOK\r\nOK\r\nCLIENT_ERROR automove window too low or too high\r\nCLIENT_ERROR bad command line format\r\nERROR\r\n";
    extstore: "extstore item_size 512\r\nextstore max_frag 0.9\r\nextstore free_memchunks 5 100\r\nextstore item_age x\r\n\
        extstore free_memchunks 64 1\r\nextstore foo 1\r\nextstore item_size\r\nextstore\r\n"
        => format!("{}{}", "OK\r\n".repeat(3), "ERROR\r\n".repeat(5));
    lru: "lru\r\nlru mode flat\r\nlru mode x\r\nlru temp_ttl 60\r\nlru tune 10 25 0.1 2.0\r\nlru tune 60 25 0.1 2.0\r\nlru tune 10 25 0 2.0\r\n"
        => "ERROR\r\nOK\r\nERROR\r\nOK\r\nOK\r\nERROR hot and warm pcts must not exceed 80\r\n\
            ERROR hot/warm age factors must be greater than 0\r\n";
    slabs: "slabs reassign 1 2\r\nslabs reassign 1 1\r\nslabs reassign x 1\r\nslabs automove 1\r\nslabs automove 3\r\nslabs automove x\r\nslabs automove\r\nslabs\r\n"
        => "OK\r\nSAME src and dst class are identical\r\nCLIENT_ERROR bad command line format\r\nOK\r\nERROR\r\n\
            CLIENT_ERROR bad command line format\r\nERROR\r\nERROR\r\n";
    crawler: "lru_crawler enable\r\nlru_crawler disable\r\nlru_crawler crawl all\r\nlru_crawler crawl 1,2\r\nlru_crawler crawl x\r\n\
        lru_crawler tocrawl 5\r\nlru_crawler tocrawl x\r\nlru_crawler sleep 100\r\nlru_crawler sleep 5000000\r\nlru_crawler\r\nlru_crawler metadump\r\n"
        => "OK\r\nOK\r\nOK\r\nOK\r\nBADCLASS invalid class id\r\nOK\r\nCLIENT_ERROR bad command line format\r\nOK\r\n\
            CLIENT_ERROR sleep must be one second or less\r\nERROR\r\nERROR\r\n";
    empty_dumps: "lru_crawler metadump all\r\nlru_crawler metadump hash\r\nlru_crawler mgdump all\r\nlru_crawler metadump x\r\nmn\r\n"
        => "END\r\nEND\r\nEN\r\nBADCLASS invalid class id\r\nMN\r\n";
    watch_what: "watch x\r\n" => "ERROR\r\n";
}

#[test]
fn verbosity_is_kept_within_bounds() {
    let mut server = Server::new();
    server.ask(b"verbosity 77\r\n");
    assert_eq!(
        server
            .shared
            .verbosity
            .load(std::sync::atomic::Ordering::Relaxed),
        2
    );
}

#[test]
fn a_long_dump_gives_way_to_others() {
    let mut server = Server::new();
    for number in 0..6000 {
        server.ask(format!("set {number} 0 0 0 noreply\r\n\r\n").as_bytes());
    }
    let mut session = Session::default();
    let (_, status, first) = server.step(&mut session, b"lru_crawler mgdump all\r\n");
    assert_eq!(status, Status::Yield);
    let (rest, _) = server.talk(&mut session, b"");
    let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
    assert!(lines(&first) < 6000);
    assert_eq!(lines(&first) + lines(&rest), 6000 + 1);
}

#[test]
fn metadump_shows_every_item() {
    let mut server = Server::new();
    server.ask(b"ms k 1 E5\r\na\r\nmg k\r\n");
    server.sleep(1);
    server.ask("ms a%20b 1 E6 T9 F3\r\na\r\n".as_bytes());
    let answer = server.ask(b"lru_crawler metadump all\r\n");
    let mut lines: Vec<&str> = answer.split('\n').collect();
    assert_eq!(lines.split_off(2), ["END\r", ""]);
    lines.sort_unstable();
    // The clock of the test starts at 100 seconds after 1,700,000,000.
    assert!(
        lines[0].starts_with("key=a%2520b exp=1700000110 la=1700000101 cas=6 fetch=no cls=1 size="),
        "{answer}"
    );
    assert!(
        lines[1].starts_with("key=k exp=-1 la=1700000100 cas=5 fetch=yes cls=1 size="),
        "{answer}"
    );
}

#[test]
fn mgdump_can_be_played_back() {
    let mut server = Server::new();
    server.ask(b"ms k 1\r\na\r\nms Zm9v 1 b\r\na\r\n");
    let answer = server.ask(b"lru_crawler mgdump all\r\n");
    let mut lines: Vec<&str> = answer.split("\r\n").collect();
    assert_eq!(lines.split_off(2), ["EN", ""]);
    lines.sort_unstable();
    assert_eq!(lines, ["mg Zm9v b", "mg k"]);
}

#[test]
fn a_dump_waits_for_its_client() {
    let mut server = Server::new();
    let items = 5000;
    for number in 0..items {
        server.ask(format!("set key{number} 0 0 1\r\na\r\n").as_bytes());
    }
    let mut session = Session::default();
    let (mut consumed, mut status, mut answer) =
        server.step(&mut session, b"lru_crawler metadump all\r\nmn\r\n");
    assert_eq!(status, Status::Yield);
    let mut steps = 1;
    let input = b"lru_crawler metadump all\r\nmn\r\n";
    while status == Status::Yield {
        let (more, next, bytes) = server.step(&mut session, &input[consumed..]);
        assert!(bytes.len() < 128 << 10);
        (consumed, status) = (consumed + more, next);
        answer.extend(bytes);
        steps += 1;
    }
    assert!(steps > 3);
    assert!(answer.ends_with(b"END\r\nMN\r\n"));
    let keys = answer.windows(4).filter(|window| window == b"key=").count();
    assert_eq!(keys, items);
}

#[test]
fn dumps_can_be_forbidden() {
    let settings = Settings {
        dump: false,
        ..Settings::default()
    };
    let mut server = Server::with(settings, StoreConfig::default());
    assert_eq!(
        server.ask(b"lru_crawler metadump all\r\nlru_crawler mgdump all\r\n"),
        "ERROR metadump not allowed\r\nERROR key dump not allowed\r\n"
    );
}

#[test]
fn flushes_can_be_forbidden() {
    let settings = Settings {
        flush: false,
        ..Settings::default()
    };
    let mut server = Server::with(settings, StoreConfig::default());
    assert_eq!(
        server.ask(b"set k 0 0 1\r\na\r\nflush_all x\r\nflush_all noreply\r\nmg k\r\n"),
        "STORED\r\nCLIENT_ERROR flush_all not allowed\r\nHD\r\n"
    );
    assert_eq!(server.counters.cmd_flush.get(), 2);
}

#[test]
fn watching_can_be_forbidden() {
    let settings = Settings {
        watch: false,
        ..Settings::default()
    };
    let mut server = Server::with(settings, StoreConfig::default());
    let refusal = "CLIENT_ERROR watch commands not allowed\r\n";
    assert_eq!(server.ask(b"watch\r\nwatch x\r\n"), refusal.repeat(2));
}

#[test]
fn shutdown_stops_the_server() {
    for line in [&b"shutdown\r\n"[..], b"shutdown graceful\r\n"] {
        let settings = Settings {
            shutdown_command: true,
            ..Settings::default()
        };
        let mut server = Server::with(settings, StoreConfig::default());
        assert_eq!(
            server.ask(b"shutdown x\r\n"),
            "CLIENT_ERROR invalid shutdown mode\r\n"
        );
        assert!(!server.shared.is_stopping());
        let (_, status) = server.talk(&mut Session::default(), line);
        assert_eq!(status, Status::Close);
        assert!(server.shared.is_stopping());
    }
}

#[test]
fn a_watcher_makes_no_more_requests() {
    let settings = Settings {
        watch: true,
        ..Settings::default()
    };
    let mut server = Server::with(settings, StoreConfig::default());
    let mut session = Session::default();
    assert!(session.watching().is_none());
    let (answer, status) = server.talk(&mut session, b"watch mutations evictions\r\nmn\r\n");
    assert_eq!((&answer[..], status), (&b"OK\r\n"[..], Status::NeedInput));
    let flags = session.watching().expect("watching");
    assert!(flags.has("mutations") && flags.has("evictions") && !flags.has("fetchers"));
    let (_, status) = server.talk(&mut Session::default(), b"watch\r\n");
    assert_eq!(status, Status::NeedInput);
}

#[cfg(debug_assertions)]
#[test]
fn the_time_can_be_moved_in_builds_for_tests() {
    let mut server = Server::new();
    let before = server.shared.clock().now;
    assert_eq!(
        server.ask(b"debugtime 1000\r\ndebugtime\r\ndebugtime x\r\ndebugtime -1\r\n"),
        "OK\r\nERROR\r\nERROR\r\nERROR\r\n"
    );
    assert!(server.shared.clock().now >= before + 1000);
    assert_eq!(
        server.ask(b"debugtime p\r\ndebugtime r noreply\r\n"),
        "OK\r\n"
    );
}
