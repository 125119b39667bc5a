//! `stats conns`: every connection and listener.

use super::Context;
use super::report::Report;
use crate::connections::{ConnectionInfo, State};

/// All of them, in the order of their numbers.
pub(super) fn collect(context: &Context<'_>, report: &mut Report<'_>) {
    for info in context.shared.connections.all() {
        connection(&info, context, report);
    }
}

fn connection(info: &ConnectionInfo, context: &Context<'_>, report: &mut Report<'_>) {
    let fd = info.fd;
    report.stat(format_args!("{fd}:addr"), &info.peer);
    if info.state() != State::Listening {
        report.stat(format_args!("{fd}:listen_addr"), &info.listener);
    }
    report.stat(format_args!("{fd}:state"), info.state().name());
    if let Some(networks) = info.fabric() {
        report.stat(format_args!("{fd}:fabric"), networks);
    }
    let idle_seconds = context.clock.now.saturating_sub(info.last_command());
    report.stat(format_args!("{fd}:secs_since_last_cmd"), idle_seconds);
}
