//! On how many servers chunks and manifests lie.

use farcache_client::{Error, Policy, parse_redundancy};

/// The policy of a client whose blobs have this redundancy, and nothing else has any:
/// `replicate:2`, `ec:2,1`, `none`.
///
/// A manifest has to be written while servers are away that a chunk can do without by taking
/// another place. So of `replicate:n` it has 2 n - 1 copies, if there are as many servers: a
/// majority is left when n - 1 are gone. Of `ec:k,m` it has a copy on each of k + m servers, as all
/// small values.
///
/// # Errors
/// [`Error::Configuration`]: this is no redundancy.
pub fn policy(redundancy: &str, servers: usize) -> Result<Policy, Error> {
    let copies = redundancy.strip_prefix("replicate:");
    let copies = copies.and_then(|copies| copies.parse::<usize>().ok());
    let of_manifests = copies.filter(|copies| *copies > 0).map(|copies| {
        let copies = (2 * copies - 1).min(servers.max(copies));
        format!("replicate:{copies}")
    });
    let of_manifests = of_manifests.as_deref().unwrap_or(redundancy);
    // Said of what was given, not of what is made of it.
    parse_redundancy(redundancy)?;
    parse_redundancy(&format!("blob:={of_manifests};chunk:={redundancy};none"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_have_copies_enough_for_a_majority_to_be_left() {
        let of = |redundancy: &str, servers| {
            let policy = policy(redundancy, servers).expect("a redundancy");
            ["blob:b", "chunk:c:0", "cached:c:0", "other"]
                .map(|key| policy.of_key(key.as_bytes()).to_string())
        };
        assert_eq!(of("none", 1), ["none"; 4]);
        let two = ["replicate:2", "replicate:2", "none", "none"];
        assert_eq!(of("replicate:2", 2), two);
        let three = ["replicate:3", "replicate:2", "none", "none"];
        assert_eq!(of("replicate:2", 3), three);
        assert_eq!(of("replicate:2", 9), three);
        let five = ["replicate:4", "replicate:3", "none", "none"];
        assert_eq!(of("replicate:3", 4), five);
        assert_eq!(of("ec:2,1", 3), ["ec:2,1", "ec:2,1", "none", "none"]);
    }

    #[test]
    fn what_is_no_redundancy_is_refused() {
        for text in [
            "",
            "replicate:",
            "replicate:0",
            "replicate:x",
            "ec:2",
            "a=b;none",
        ] {
            assert!(policy(text, 3).is_err(), "{text}");
        }
    }
}
