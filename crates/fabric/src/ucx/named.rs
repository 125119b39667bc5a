//! Memory that is shared by name, which users of a group can do.
//!
//! UCX's shared memory has no name as a rule: peers open it by `/proc/PID/fd`, which the system
//! allows only the same user. Where [`VARIABLE`] names a folder, it lies there in files, which are
//! opened to the folder's group (by the folder's set-group-ID bit) as soon as UCX has made them.
//! UCX would make more when all rooms are taken, at a time when nobody can open them before the
//! peer asks; so it is given all rooms at once. A process that is killed leaves its files there.

use std::fs::{self, DirEntry, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

/// The variable that names the folder, for servers and clients alike.
pub(super) const VARIABLE: &str = "FARCACHE_SHARED_MEMORY";

/// UCX's setting, by its name without `UCX_POSIX_`, by which memory has no name.
pub(super) const BY_PROCESS: &str = "USE_PROC_LINK";

/// UCX's variable for it.
const BY_PROCESS_VARIABLE: &str = "UCX_POSIX_USE_PROC_LINK";

/// Rooms of a port; about 17 MB.
const ROOMS: &str = "512";

/// What the names of UCX's files begin with. Source: `mm_posix.c` of UCX 1.13.
const PREFIX: &[u8] = b"ucx_shm_posix_";

/// Rights of a file that UCX has made, and of one that is open to its group.
const PRIVATE: u32 = 0o600;
const OPEN: u32 = 0o660;

/// The folder, if memory is to be shared by name.
pub(super) fn folder() -> Option<String> {
    std::env::var(VARIABLE)
        .ok()
        .filter(|folder| !folder.is_empty())
}

/// UCX's settings by which memory lies in this folder.
pub(super) fn settings(folder: String) -> [(&'static str, String); 4] {
    [
        ("DIR", folder),
        (BY_PROCESS, "n".into()),
        ("MM_RX_BUFS_GROW", ROOMS.into()),
        ("MM_RX_MAX_BUFS", ROOMS.into()),
    ]
}

/// Whether memory is shared by name, under the settings chosen or by the user's variable.
pub(super) fn is_chosen(chosen: &[(String, String)]) -> bool {
    let by_program = chosen.iter().find(|(name, _)| name == BY_PROCESS);
    let value = by_program.map(|(_, value)| value.clone());
    let value = value.or_else(|| std::env::var(BY_PROCESS_VARIABLE).ok());
    value.is_some_and(|value| ["n", "no", "0"].contains(&value.as_str()))
}

/// Opens this user's files in the folder to its group. One that cannot be opened cannot be used by
/// others, who say so when they connect.
pub(super) fn open_to_group() {
    let entries = folder().and_then(|folder| fs::read_dir(folder).ok());
    entries
        .into_iter()
        .flatten()
        .flatten()
        .for_each(|entry| open(&entry));
}

fn open(entry: &DirEntry) {
    let is_ours = |metadata: &fs::Metadata| {
        let own = rustix::process::geteuid().as_raw();
        metadata.is_file() && metadata.uid() == own && metadata.mode() & 0o777 == PRIVATE
    };
    let is_ucx = entry.file_name().as_encoded_bytes().starts_with(PREFIX);
    if is_ucx && entry.metadata().is_ok_and(|metadata| is_ours(&metadata)) {
        // Nothing can be done here about one that is gone already, or on a system that does not
        // allow it.
        let _ = fs::set_permissions(entry.path(), Permissions::from_mode(OPEN));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_lies_in_the_folder_by_name() {
        let settings = settings("/dev/shm/farcached".into());
        let chosen = settings.map(|(name, value)| (name.to_owned(), value));
        assert!(is_chosen(&chosen));
        assert!(chosen.contains(&("DIR".into(), "/dev/shm/farcached".into())));
        assert!(!is_chosen(&[(BY_PROCESS.into(), "y".into())]));
    }

    #[test]
    fn ucx_s_files_alone_are_opened_to_the_group() {
        let folder = std::env::temp_dir().join(format!("farcache-named-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let mode_of = |name: &str| {
            let path = folder.join(name);
            fs::write(&path, b"").expect("a file");
            fs::set_permissions(&path, Permissions::from_mode(PRIVATE)).expect("allowed");
            let entries = fs::read_dir(&folder).expect("readable").flatten();
            entries.for_each(|entry| super::open(&entry));
            fs::metadata(&path).expect("there").mode() & 0o777
        };
        assert_eq!(mode_of("ucx_shm_posix_1"), OPEN);
        assert_eq!(mode_of("other"), PRIVATE);
        fs::remove_dir_all(&folder).expect("removable");
    }
}
