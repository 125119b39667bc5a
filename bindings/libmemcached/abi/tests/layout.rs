//! Compares every structure with the headers of the libmemcached that is installed.
//!
//! A C program prints the sizes and the fields' places as the C compiler sees them. Where there are
//! no headers, the test says so and does not compare.

use farcache_libmemcached_abi::*;
use std::fmt::Write;
use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;

/// A structure as the test describes it: C's name, its size, its fields by C's names with their
/// offsets.
struct Layout(&'static str, usize, Vec<(&'static str, usize)>);

macro_rules! layout {
    ($name:literal, $type:ty, $($rust:ident = $c:literal),* $(,)?) => {
        Layout($name, size_of::<$type>(), vec![$(($c, offset_of!($type, $rust))),*])
    };
}

fn hash_layouts() -> [Layout; 2] {
    [
        layout!(
            "hashkit_st",
            Hashkit,
            base_hash = "base_hash",
            distribution_hash = "distribution_hash",
            key = "_key"
        ),
        layout!(
            "struct hashkit_function_st",
            HashkitFunction,
            function = "function",
            context = "context"
        ),
    ]
}

fn value_layouts() -> [Layout; 5] {
    [
        layout!(
            "memcached_string_st",
            StringStructure,
            end = "end",
            string = "string",
            current_size = "current_size",
            root = "root",
            options = "options"
        ),
        layout!(
            "memcached_result_st",
            ResultStructure,
            item_flags = "item_flags",
            item_expiration = "item_expiration",
            key_length = "key_length",
            item_cas = "item_cas",
            root = "root",
            value = "value",
            numeric_value = "numeric_value",
            count = "count",
            item_key = "item_key",
            options = "options"
        ),
        layout!(
            "struct memcached_allocator_t",
            Allocators,
            calloc = "calloc",
            free = "free",
            malloc = "malloc",
            realloc = "realloc",
            context = "context"
        ),
        layout!(
            "memcached_callback_st",
            CallbackList,
            callback = "callback",
            context = "context",
            number_of_callback = "number_of_callback"
        ),
        layout!(
            "struct memcached_sasl_st",
            Sasl,
            callbacks = "callbacks",
            is_allocated = "is_allocated"
        ),
    ]
}

fn server_layouts() -> [Layout; 3] {
    [
        layout!(
            "memcached_server_st",
            ServerStructure,
            number_of_hosts = "number_of_hosts",
            cursor_active = "cursor_active",
            port = "port",
            io_bytes_sent = "io_bytes_sent",
            request_id = "request_id",
            server_failure_counter = "server_failure_counter",
            server_failure_counter_query_id = "server_failure_counter_query_id",
            server_timeout_counter = "server_timeout_counter",
            server_timeout_counter_query_id = "server_timeout_counter_query_id",
            weight = "weight",
            version = "version",
            state = "state",
            io_wait_count = "io_wait_count",
            major_version = "major_version",
            micro_version = "micro_version",
            minor_version = "minor_version",
            kind = "type",
            next_retry = "next_retry",
            root = "root",
            limit_maxbytes = "limit_maxbytes",
            error_messages = "error_messages",
            hostname = "hostname"
        ),
        layout!(
            "memcached_stat_st",
            Statistics,
            connection_structures = "connection_structures",
            pid = "pid",
            pointer_size = "pointer_size",
            threads = "threads",
            time = "time",
            uptime = "uptime",
            bytes = "bytes",
            cmd_get = "cmd_get",
            limit_maxbytes = "limit_maxbytes",
            version = "version",
            future = "__future",
            root = "root"
        ),
        layout!(
            "struct memcached_analysis_st",
            Analysis,
            root = "root",
            average_item_size = "average_item_size",
            longest_uptime = "longest_uptime",
            least_free_server = "least_free_server",
            most_consumed_server = "most_consumed_server",
            oldest_server = "oldest_server",
            pool_hit_ratio = "pool_hit_ratio",
            most_used_bytes = "most_used_bytes",
            least_remaining_bytes = "least_remaining_bytes"
        ),
    ]
}

fn handle_layout() -> Layout {
    layout!(
        "memcached_st",
        Handle,
        state = "state",
        flags = "flags",
        distribution = "distribution",
        hashkit = "hashkit",
        server_version = "server_info",
        number_of_hosts = "number_of_hosts",
        servers = "servers",
        last_disconnected_server = "last_disconnected_server",
        snd_timeout = "snd_timeout",
        rcv_timeout = "rcv_timeout",
        server_failure_limit = "server_failure_limit",
        server_timeout_limit = "server_timeout_limit",
        io_msg_watermark = "io_msg_watermark",
        io_bytes_watermark = "io_bytes_watermark",
        io_key_prefetch = "io_key_prefetch",
        tcp_keepidle = "tcp_keepidle",
        poll_timeout = "poll_timeout",
        connect_timeout = "connect_timeout",
        retry_timeout = "retry_timeout",
        dead_timeout = "dead_timeout",
        send_size = "send_size",
        recv_size = "recv_size",
        user_data = "user_data",
        query_id = "query_id",
        number_of_replicas = "number_of_replicas",
        result = "result",
        ketama = "ketama",
        virtual_bucket = "virtual_bucket",
        allocators = "allocators",
        on_clone = "on_clone",
        on_cleanup = "on_cleanup",
        get_key_failure = "get_key_failure",
        delete_trigger = "delete_trigger",
        callbacks = "callbacks",
        sasl = "sasl",
        error_messages = "error_messages",
        namespace = "_namespace",
        configure = "configure",
        options = "options"
    )
}

/// Fields of structures without a name of their own, by their place in the handle.
fn nested() -> Vec<(&'static str, usize)> {
    let ketama = offset_of!(Handle, ketama);
    let configure = offset_of!(Handle, configure);
    vec![
        ("ketama.weighted_", ketama + offset_of!(Ketama, weighted)),
        (
            "ketama.continuum_count",
            ketama + offset_of!(Ketama, continuum_count),
        ),
        (
            "ketama.continuum_points_counter",
            ketama + offset_of!(Ketama, continuum_points_counter),
        ),
        (
            "ketama.next_distribution_rebuild",
            ketama + offset_of!(Ketama, next_distribution_rebuild),
        ),
        ("ketama.continuum", ketama + offset_of!(Ketama, continuum)),
        (
            "configure.initial_pool_size",
            configure + offset_of!(Configure, initial_pool_size),
        ),
        (
            "configure.max_pool_size",
            configure + offset_of!(Configure, max_pool_size),
        ),
        (
            "configure.version",
            configure + offset_of!(Configure, version),
        ),
        (
            "configure.filename",
            configure + offset_of!(Configure, filename),
        ),
    ]
}

/// The C program and what it should print.
fn program() -> (String, String) {
    let mut code = String::from(
        "#include <libmemcached/memcached.h>\n#include <stdio.h>\n#include <string.h>\nint main(void) {\n",
    );
    let mut expected = String::new();
    let mut line = |what: String, c: String, value: usize| {
        writeln!(code, "printf(\"{what} %zu\\n\", (size_t) ({c}));").unwrap();
        writeln!(expected, "{what} {value}").unwrap();
    };
    let layouts = hash_layouts()
        .into_iter()
        .chain(value_layouts())
        .chain(server_layouts());
    for Layout(name, size, fields) in layouts.chain([handle_layout()]) {
        line(name.into(), format!("sizeof({name})"), size);
        for (field, offset) in fields {
            line(
                format!("{name}.{field}"),
                format!("offsetof({name}, {field})"),
                offset,
            );
        }
    }
    for (field, offset) in nested() {
        line(
            field.into(),
            format!("offsetof(memcached_st, {field})"),
            offset,
        );
    }
    for (name, bit) in [
        ("auto_eject_hosts", flags::AUTO_EJECT_HOSTS),
        ("binary_protocol", flags::BINARY_PROTOCOL),
        ("buffer_requests", flags::BUFFER_REQUESTS),
        ("hash_with_namespace", flags::HASH_WITH_NAMESPACE),
        ("no_block", flags::NO_BLOCK),
        ("reply", flags::REPLY),
        ("randomize_replica_read", flags::RANDOMIZE_REPLICA_READ),
        ("support_cas", flags::SUPPORT_CAS),
        ("tcp_nodelay", flags::TCP_NODELAY),
        ("use_sort_hosts", flags::USE_SORT_HOSTS),
        ("use_udp", flags::USE_UDP),
        ("verify_key", flags::VERIFY_KEY),
        ("tcp_keepalive", flags::TCP_KEEPALIVE),
        ("is_aes", flags::IS_AES),
        ("is_fetching_version", flags::IS_FETCHING_VERSION),
    ] {
        let c = format!(
            "({{ memcached_st m; memset(&m, 0, sizeof m); m.flags.{name} = true; unsigned short f; \
             memcpy(&f, &m.flags, 2); f; }})"
        );
        line(format!("flags.{name}"), c, usize::from(bit));
    }
    code.push_str("return 0; }\n");
    (code, expected)
}

#[test]
fn structures_are_laid_out_as_in_c() {
    if !Path::new("/usr/include/libmemcached/memcached.h").exists() {
        println!("SKIPPED: libmemcached's headers are not installed");
        return;
    }
    let (code, expected) = program();
    let folder = tempfile::tempdir().unwrap();
    let (source, binary) = (folder.path().join("layout.c"), folder.path().join("layout"));
    std::fs::write(&source, code).unwrap();
    let compiled = Command::new("cc")
        .arg("-o")
        .arg(&binary)
        .arg(&source)
        .status();
    assert!(compiled.expect("a C compiler").success());
    let output = Command::new(&binary).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}
