//! What one server has of a key that lies on several.

use farcache_client::{
    Client, Delivery, INCOMPLETE, Operation, ReceiveBytes, Reply, Route, VersionTerms,
};

/// Asks one server, whatever the key.
pub fn ask(client: &Client, server: usize, operation: Operation<'_>) -> Reply {
    let delivery = Delivery {
        route: Route::Server(server),
        timeout: None,
    };
    let answer = client.wait(client.submit_to(operation, delivery));
    answer.expect("an answer")
}

/// Whether a server says of what it has of a key that it was not told to be complete.
pub fn is_incomplete(client: &Client, server: usize, key: &str) -> bool {
    let get = Operation::GetVersioned {
        key: key.as_bytes(),
        terms: VersionTerms::Newest,
        bytes_max: 0,
        into: ReceiveBytes::default(),
    };
    match ask(client, server, get) {
        Reply::Value { cas, .. } => cas & INCOMPLETE != 0,
        Reply::Deleted { version } => version & INCOMPLETE != 0,
        other => panic!("{key} at server {server}: {other:?}"),
    }
}
