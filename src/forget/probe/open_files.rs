//! Which files of a store are deleted and still open?

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{Place, unreadable};

/// Files of the store that are deleted and that some process still has open or mapped: their bytes are still there.
#[cfg(target_os = "linux")]
pub(super) fn still_open(folder: &Path) -> Place {
    let name = "deleted files that a process still has open".to_owned();
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).display().to_string();
    let below = format!("{folder}/");
    let is_ours = |path: &str| path.starts_with(&below) && path.ends_with(" (deleted)");
    let (mut processes, mut found) = (0, BTreeSet::new());
    let ids = fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in
        ids.filter(|entry| entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()))
    {
        processes += 1;
        let maps = match fs::read_to_string(process.path().join("maps")) {
            Ok(maps) => maps,
            // Whoever has the index open has a lease on it.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                if has_lease(&folder, &process.file_name()) {
                    return unreadable(name, "a process that has the index open can't be looked into");
                }
                continue;
            }
            Err(_) => continue,
        };
        let mapped = maps.lines().filter_map(|line| line.find('/').map(|at| line[at..].to_owned()));
        let links = fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
        let open = links.filter_map(|link| Some(fs::read_link(link.path()).ok()?.display().to_string()));
        // What SQLite deletes and makes anew holds no content: shared memory of the journal.
        let held = mapped.chain(open).filter(|path| is_ours(path) && !path.contains(".db-shm"));
        found.extend(held.map(|path| (process.file_name(), path)));
    }
    Place { name, looked_at: processes, copies: found.len() as u64, parts: 0, unreadable: None }
}

#[cfg(target_os = "linux")]
fn has_lease(folder: &str, process: &std::ffi::OsStr) -> bool {
    let leases =
        fs::read_dir(Path::new(folder).join("derived").join("leases")).into_iter().flatten().flatten();
    let of = format!("{}-", process.to_string_lossy());
    leases.map(|lease| lease.file_name()).any(|name| name.to_string_lossy().starts_with(&of))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn still_open(_: &Path) -> Place {
    unreadable("deleted files that a process still has open".to_owned(), "this system does not tell")
}
