//! After a purge no file has the words of what was removed.

use std::fs;

use super::*;

/// Says whether the term dictionaries hold the term.
fn in_dictionary(view: &View, term: &str) -> bool {
    let mut found = false;
    view.for_each_term(|_, held| found |= held == term.as_bytes()).unwrap();
    found
}

/// Says whether any file in the folder has the bytes of the term, or most of them.
fn in_bytes(folder: &Path, term: &str) -> bool {
    let needle = &term.as_bytes()[..12];
    fs::read_dir(folder).unwrap().any(|entry| {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        bytes.windows(needle.len()).any(|window| window == needle)
    })
}

/// Words without a common beginning, so that dictionaries hold them at length.
fn word(doc: u64) -> String {
    let mut state = doc.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..16)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            char::from(b'a' + (state >> 40) as u8 % 26)
        })
        .collect()
}

#[test]
fn after_a_purge_no_file_has_a_removed_word() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(folder.path()).unwrap().unwrap();
    for round in 0..4 {
        writer.apply((round * 50..round * 50 + 50).map(|doc| add(doc, HOME, &word(doc)))).unwrap();
        writer.commit(round, 0).unwrap();
    }
    let index = open(folder.path());
    // One from an early and one from a late segment, all of another, and one that was replaced.
    let removed: Vec<u64> = [3, 199].into_iter().chain(100..150).collect();
    writer.apply(removed.iter().map(|doc| Entry::Remove { doc: *doc })).unwrap();
    writer.apply([add(7, HOME, "instead")]).unwrap();
    let gone: Vec<u64> = removed.into_iter().chain([7]).collect();

    // The control: the search finds them before, and after the removal alone.
    assert!(gone.iter().all(|doc| in_dictionary(&index.view(), &word(*doc))));
    writer.commit(4, 0).unwrap();
    index.reload().unwrap();
    assert!(in_dictionary(&index.view(), &word(3)) && index.view().dead() > 0);

    let generation = writer.purge().unwrap();
    index.reload().unwrap();
    let view = index.view();
    assert_eq!((view.generation(), view.watermark(), view.dead()), (generation, 4, 0));
    for doc in gone {
        assert!(!in_dictionary(&view, &word(doc)), "{doc}");
        assert!(!in_bytes(folder.path(), &word(doc)), "{doc}");
    }
    assert!(in_dictionary(&view, &word(4)) && in_dictionary(&view, "instead"));
    assert_eq!(view.documents().unwrap().len(), 148);
}

#[test]
fn a_purge_sweeps_up_what_a_crash_left() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 1, vec![add(1, HOME, "word")]);
    let orphan = folder.path().join("0123456789abcdef0123456789abcdef.term");
    let foreign = folder.path().join("notes.txt");
    fs::write(&orphan, "forgotten").unwrap();
    fs::write(&foreign, "not of the index").unwrap();
    Writer::open(folder.path()).unwrap().unwrap().purge().unwrap();
    assert!(!orphan.exists());
    assert!(foreign.exists());
    assert_eq!(postings(&open(folder.path()).view(), HOME, "word").len(), 1);
}

#[test]
fn a_purge_commits_what_was_applied() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 5, vec![add(1, HOME, &word(1)), add(2, HOME, &word(2))]);
    let mut writer = Writer::open(folder.path()).unwrap().unwrap();
    writer.apply([Entry::Remove { doc: 1 }]).unwrap();
    writer.purge().unwrap();
    let view = open(folder.path()).view();
    assert_eq!((view.watermark(), view.documents().unwrap()), (5, vec![2]));
    assert!(!in_dictionary(&view, &word(1)));
}

/// Mapped files of the folder that have been unlinked.
#[cfg(target_os = "linux")]
fn unlinked(folder: &Path) -> usize {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let folder = folder.to_str().unwrap();
    maps.lines().filter(|line| line.contains(folder) && line.ends_with("(deleted)")).count()
}

#[cfg(target_os = "linux")]
#[test]
fn an_old_view_keeps_unlinked_files_until_it_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 1, vec![add(1, HOME, "word"), add(2, HOME, "word")]);
    let index = open(folder.path());
    let old = index.view();
    let mut writer = Writer::open(folder.path()).unwrap().unwrap();
    writer.apply([Entry::Remove { doc: 1 }]).unwrap();
    writer.commit(2, 0).unwrap();
    writer.purge().unwrap();
    index.reload().unwrap();
    assert!(unlinked(folder.path()) > 0);
    assert_eq!(index.oldest_generation(), old.generation());
    assert_eq!(postings(&old, HOME, "word").len(), 2);
    assert_eq!(postings(&index.view(), HOME, "word").len(), 1);
    drop(old);
    assert_eq!(index.oldest_generation(), index.generation());
    assert_eq!(unlinked(folder.path()), 0);
}
