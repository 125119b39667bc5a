//! Which networks carry a connection, in few words.

/// The transports and devices of an endpoint, as "posix/memory tcp/lo", out of UCX's description.
/// UCX does not promise its form: what is not understood is left out.
pub(super) fn lanes_of(description: &str) -> String {
    let mut lanes: Vec<&str> = Vec::new();
    for lane in description.lines().filter_map(lane_of) {
        if !lanes.contains(&lane) {
            lanes.push(lane);
        }
    }
    lanes.join(" ")
}

/// The transport of a line such as `#   lane[0]:  2:posix/memory.0 md[1]   ->
/// md[1]/posix/sysdev[255]  am am_bw#0`.
fn lane_of(line: &str) -> Option<&str> {
    let after = line.split_once("lane[")?.1.split_once(']')?.1;
    let word = after.trim_start_matches(':').split_whitespace().next()?;
    let named = word.split_once(':').map_or(word, |(_, name)| name);
    Some(named.split_once('.').map_or(named, |(name, _)| name)).filter(|name| !name.is_empty())
}

/// How UCX names its transport over the kernel's sockets, and a lane of it.
const SOCKETS: &str = "tcp/";

/// Whether all of these lanes are the kernel's sockets. False where nothing is known of them.
pub(super) fn are_sockets(lanes: &str) -> bool {
    !lanes.is_empty() && lanes.split(' ').all(|lane| lane.starts_with(SOCKETS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_sockets_where_nothing_else_is_among_them() {
        assert!(are_sockets("tcp/lo") && are_sockets("tcp/eth0 tcp/lo"));
        for other in [
            "",
            "posix/memory",
            "tcp/lo posix/memory",
            "rc_verbs/rxe0 tcp/eth0",
        ] {
            assert!(!are_sockets(other), "{other}");
        }
        assert!(!are_sockets("Endpoint timeout"), "an error");
    }

    #[test]
    fn transports_are_found_once_each() {
        let text = "#\n# UCP endpoint 0x7f\n#\n#               peer: <no debug data>\n\
            #                 lane[0]:  2:posix/memory.0 md[1]   -> md[1]/posix/sysdev[255]  am am_bw#0\n\
            #                 lane[1]:  6:cma/memory.0 md[3]     -> md[3]/cma/sysdev[255]  rma_bw#0\n\
            #                 lane[2]:  2:posix/memory.0 md[1]   -> md[1]/posix/sysdev[255]  wireup\n\
            #\n#                tag_send: 0..<egr/short>..8185\n";
        assert_eq!(lanes_of(text), "posix/memory cma/memory");
        assert_eq!(lanes_of("lane[] nothing of the kind"), "nothing");
        assert_eq!(lanes_of("no such thing"), "");
    }
}
