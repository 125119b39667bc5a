//! `stats conns`: every connection and listener.

use crate::connections::{ConnectionInfo, State};
use crate::shared::Shared;
use farcache_base::time::Seconds;
use farcache_session::stats::Report;

/// All of them, in the order of their numbers.
pub(super) fn collect(shared: &Shared, now: Seconds, report: &mut Report<'_>) {
    for info in shared.connections.all() {
        connection(&info, now, report);
    }
}

fn connection(info: &ConnectionInfo, now: Seconds, report: &mut Report<'_>) {
    let fd = info.fd;
    report.stat(format_args!("{fd}:addr"), &info.peer);
    if info.state() != State::Listening {
        report.stat(format_args!("{fd}:listen_addr"), &info.listener);
    }
    report.stat(format_args!("{fd}:state"), info.state().name());
    if let Some(networks) = info.fabric() {
        report.stat(format_args!("{fd}:fabric"), networks);
    }
    let idle_seconds = now.saturating_sub(info.last_command());
    report.stat(format_args!("{fd}:secs_since_last_cmd"), idle_seconds);
}
