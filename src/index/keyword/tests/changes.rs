//! Adding, replacing, removing, reading.

use super::*;

#[test]
fn what_is_added_is_found_with_its_frequency() {
    let folder = tempfile::tempdir().unwrap();
    let opened = KeywordIndex::open(folder.path()).unwrap();
    assert_eq!(opened.condition, Condition::Created);
    assert_eq!((opened.index.watermark(), opened.index.generation()), (0, 1));

    write(
        folder.path(),
        7,
        vec![add(1, HOME, "red red blue"), add(u64::MAX, HOME, "blue"), add(3, HOME, "")],
    );
    assert!(opened.index.reload().unwrap());
    assert!(!opened.index.reload().unwrap());
    let view = opened.index.view();
    assert_eq!((view.watermark(), view.generation()), (7, 2));
    assert_eq!(postings(&view, HOME, "red"), BTreeMap::from([(1, 2)]));
    assert_eq!(postings(&view, HOME, "blue"), BTreeMap::from([(1, 1), (u64::MAX, 1)]));
    assert!(postings(&view, HOME, "re").is_empty());
    assert_eq!(view.documents().unwrap(), [1, 3, u64::MAX]);
    assert_eq!(KeywordIndex::open(folder.path()).unwrap().condition, Condition::Found);
}

#[test]
fn namespaces_share_no_posting() {
    let folder = tempfile::tempdir().unwrap();
    let partitions = [(1, 0), (1, 1), (0, 0), (0, 128), (128, 0), (16_384, 0), (u32::MAX, 255)];
    let partitions = partitions.map(|(namespace, class)| Partition { namespace, class });
    let entries =
        partitions.iter().zip(1..).map(|(partition, doc)| add(doc, *partition, "secret word")).collect();
    write(folder.path(), 1, entries);
    let view = open(folder.path()).view();
    for partition in partitions {
        // Those of one namespace are read together, whichever sensitivity they have.
        let own = |(other, _): &(Partition, u64)| other.namespace == partition.namespace;
        let docs = partitions.into_iter().zip(1u64..).filter(own).map(|(_, doc)| (doc, 1)).collect();
        assert_eq!(postings(&view, partition, "secret"), docs);
        // A term that begins like the prefix of another partition stays a term of its own.
        assert!(postings(&view, partition, &HOME.key("secret")).is_empty());
    }
}

#[test]
fn applying_again_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let batch =
        vec![add(1, HOME, "one"), add(2, HOME, "two two"), Entry::Remove { doc: 1 }, add(3, HOME, "three")];
    for round in 1..=3 {
        write(folder.path(), round, batch.clone());
        let view = open(folder.path()).view();
        assert_eq!(view.documents().unwrap(), [2, 3]);
        assert_eq!(postings(&view, HOME, "two"), BTreeMap::from([(2, 2)]));
        assert!(postings(&view, HOME, "one").is_empty());
    }
}

#[test]
fn replaced_and_removed_documents_never_appear() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 1, (0..300).map(|doc| add(doc, HOME, "old shared")).collect());
    let mut entries: Vec<Entry> = (0..100).map(|doc| add(doc, HOME, "new shared")).collect();
    entries.extend((100..150).map(|doc| Entry::Remove { doc }));
    // Within one batch, too: the last word counts.
    entries.extend([
        add(500, HOME, "old"),
        add(500, HOME, "new"),
        add(501, HOME, "old"),
        Entry::Remove { doc: 501 },
    ]);
    write(folder.path(), 2, entries);
    let view = open(folder.path()).view();
    assert!(postings(&view, HOME, "old").keys().copied().eq(150..300));
    assert!(postings(&view, HOME, "new").keys().copied().eq((0..100).chain([500])));
    assert_eq!(postings(&view, HOME, "shared").len(), 250);
}

#[test]
fn uncommitted_changes_are_forgotten_with_their_writer() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 1, vec![add(1, HOME, "kept")]);
    let mut writer = Writer::open(folder.path()).unwrap().unwrap();
    writer.apply([add(2, HOME, "lost"), Entry::Remove { doc: 1 }]).unwrap();
    drop(writer);
    let view = open(folder.path()).view();
    assert_eq!((view.watermark(), view.documents().unwrap()), (1, vec![1]));
}

#[test]
fn changes_that_a_crash_cut_short_can_be_applied_again() {
    let folder = tempfile::tempdir().unwrap();
    let meta = folder.path().join("meta.json");
    write(folder.path(), 1, (0..9).map(|doc| add(doc, HOME, "word")).collect());
    let before = std::fs::read(&meta).unwrap();
    write(folder.path(), 2, vec![Entry::Remove { doc: 3 }]);
    // Killed after the files of the commit were written, and before what describes it.
    std::fs::write(&meta, before).unwrap();
    write(folder.path(), 2, vec![Entry::Remove { doc: 3 }]);
    let view = open(folder.path()).view();
    assert_eq!((view.watermark(), view.documents().unwrap()), (2, vec![0, 1, 2, 4, 5, 6, 7, 8]));
}

#[test]
fn clearing_counts_from_the_next_commit_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 9, (0..50).map(|doc| add(doc, HOME, "before")).collect());
    let index = open(folder.path());
    let mut writer = Writer::open(folder.path()).unwrap().unwrap();
    writer.apply([add(99, HOME, "before")]).unwrap();
    writer.clear().unwrap();
    writer.apply((0..10).map(|doc| add(doc, HOME, "after"))).unwrap();
    index.reload().unwrap();
    assert_eq!(index.view().documents().unwrap().len(), 50);
    writer.commit(3, 0).unwrap();
    index.reload().unwrap();
    let view = index.view();
    assert_eq!(view.watermark(), 3);
    assert!(postings(&view, HOME, "before").is_empty());
    assert!(postings(&view, HOME, "after").keys().copied().eq(0..10));

    // Again, with the same writer: a removal of the first round must not reach the second.
    writer.clear().unwrap();
    writer.apply((0..10).map(|doc| add(doc, HOME, "again"))).unwrap();
    writer.commit(4, 0).unwrap();
    index.reload().unwrap();
    assert_eq!(index.view().documents().unwrap().len(), 10);
}

#[test]
fn segments_stay_few_over_many_commits() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(folder.path()).unwrap().unwrap();
    for doc in 0..60 {
        writer.apply([add(doc, HOME, "word")]).unwrap();
        writer.commit(doc, 0).unwrap();
    }
    let index = open(folder.path());
    assert!(index.view().segments().len() < 6);
    assert_eq!(postings(&index.view(), HOME, "word").len(), 60);
    assert_eq!(index.watermark(), 59);
}

#[test]
fn a_view_is_shared_among_threads_and_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 1, vec![add(1, HOME, "word")]);
    let index = open(folder.path());
    let view = index.view();
    write(folder.path(), 2, vec![add(2, HOME, "word")]);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                index.reload().unwrap();
                assert_eq!(postings(&view.clone(), HOME, "word").len(), 1);
                assert_eq!(postings(&index.view(), HOME, "word").len(), 2);
            });
        }
    });
}
