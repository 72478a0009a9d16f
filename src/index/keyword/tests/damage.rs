//! A broken index is thrown away, and never takes anything along.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::text::ANALYSIS_VERSION;

/// An index with several segments, removals, and a healthy mix of terms.
fn sample(folder: &Path) {
    let mut writer = Writer::open(folder).unwrap().unwrap();
    for round in 0..3u64 {
        let docs = round * 40..round * 40 + 40;
        writer.apply(docs.map(|doc| add(doc, HOME, &format!("shared word{doc} more{}", doc % 7)))).unwrap();
        writer.commit(round + 1, 0).unwrap();
    }
    writer.apply((0..120).step_by(9).map(|doc| Entry::Remove { doc })).unwrap();
    writer.commit(4, 0).unwrap();
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn copy(from: &Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    for file in files(from) {
        fs::copy(&file, to.path().join(file.file_name().unwrap())).unwrap();
    }
    to
}

/// Opens what was damaged, and uses it every way. Returns whether it was thrown away.
fn use_after(damage: &str, folder: &Path) -> bool {
    let Opened { index, condition } = KeywordIndex::open(folder).unwrap();
    let view = index.view();
    let found = postings(&view, HOME, "shared").len();
    let documents = view.documents().unwrap();
    view.for_each_term(|_, _| {}).unwrap();
    match &condition {
        Condition::Found => assert_eq!((found, documents.len(), view.watermark()), (106, 106, 4), "{damage}"),
        Condition::Discarded { .. } => assert_eq!((found, view.watermark()), (0, 0), "{damage}"),
        other => panic!("{damage}: {other:?}"),
    }
    let mut writer = Writer::open(folder).unwrap().unwrap();
    writer.apply([add(1_000, HOME, "later"), Entry::Remove { doc: 1 }]).unwrap();
    writer.commit(5, 0).unwrap();
    writer.purge().unwrap();
    index.reload().unwrap();
    assert_eq!(postings(&index.view(), HOME, "later").len(), 1, "{damage}");
    condition != Condition::Found
}

#[test]
fn every_damaged_file_is_noticed_or_harmless() {
    let sound = tempfile::tempdir().unwrap();
    sample(sound.path());
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 8] = [
        ("emptied", |bytes| bytes.clear()),
        ("cut to half", |bytes| bytes.truncate(bytes.len() / 2)),
        ("one byte short", |bytes| bytes.truncate(bytes.len().saturating_sub(1))),
        ("zeroed", |bytes| bytes.fill(0)),
        ("first bit flipped", |bytes| bytes[0] ^= 1),
        ("middle bit flipped", |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x10;
        }),
        ("last bit flipped", |bytes| *bytes.last_mut().unwrap() ^= 1),
        ("end overwritten", |bytes| {
            let end = bytes.len() - bytes.len().min(16);
            bytes[end..].fill(0xff);
        }),
    ];
    let mut noticed = 0;
    for file in files(sound.path()) {
        let name = file.file_name().unwrap().to_str().unwrap();
        if name.ends_with(".lock") {
            continue;
        }
        for (how, damage) in damages {
            let folder = copy(sound.path());
            let mut bytes = fs::read(&file).unwrap();
            damage(&mut bytes);
            fs::write(folder.path().join(name), bytes).unwrap();
            noticed += usize::from(use_after(&format!("{name} {how}"), folder.path()));
        }
        let folder = copy(sound.path());
        fs::remove_file(folder.path().join(name)).unwrap();
        noticed += usize::from(use_after(&format!("{name} deleted"), folder.path()));
    }
    assert!(noticed > 100, "{noticed}");
}

#[test]
fn every_flipped_bit_of_the_description_is_survived() {
    let sound = tempfile::tempdir().unwrap();
    sample(sound.path());
    let meta = fs::read(sound.path().join("meta.json")).unwrap();
    for at in 0..meta.len() {
        let folder = copy(sound.path());
        let mut bytes = meta.clone();
        bytes[at] ^= 1 << (at % 7);
        fs::write(folder.path().join("meta.json"), bytes).unwrap();
        let Opened { index, .. } = KeywordIndex::open(folder.path()).unwrap();
        let view = index.view();
        assert!(view.watermark() == 0 || view.watermark() == 4, "byte {at}");
        let _ = view.words_of(HOME.namespace, |_, _, _| {});
        let _ = view.documents();
        let _ = view.for_each_term(|_, _| {});
    }
}

#[test]
fn another_layout_or_analysis_is_discarded() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 8, vec![add(1, HOME, "word")]);
    let meta = folder.path().join("meta.json");
    let text = fs::read_to_string(&meta).unwrap();
    let analysis = format!(r#"\"analysis\":{ANALYSIS_VERSION}"#);
    let versions = (analysis.as_str(), r#"\"analysis\":99"#);
    for (from, to) in [(r#""name": "terms""#, r#""name": "trems""#), versions, (r#""freq""#, r#""position""#)]
    {
        assert!(text.contains(from), "{from} in {text}");
        let folder = copy(folder.path());
        fs::write(folder.path().join("meta.json"), text.replace(from, to)).unwrap();
        let Opened { index, condition } = KeywordIndex::open(folder.path()).unwrap();
        assert!(matches!(condition, Condition::Discarded { .. }), "{to}");
        assert_eq!(index.watermark(), 0);
        // Generations go on, so that nobody takes what is old for newer.
        assert!(index.generation() > 2, "{}", index.generation());
    }
}

#[test]
fn a_reader_notices_that_its_index_was_replaced() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 1, vec![add(1, HOME, "word")]);
    let index = open(folder.path());
    for file in files(folder.path()) {
        fs::remove_file(file).unwrap();
    }
    assert!(index.reload().is_err());
    assert_eq!((index.watermark(), index.view().documents().unwrap().len()), (0, 0));
    write(folder.path(), 2, vec![add(2, HOME, "word")]);
    assert!(index.reload().unwrap());
    assert_eq!(index.view().documents().unwrap(), [2]);
}

#[test]
fn nothing_is_discarded_under_a_living_writer() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 1, vec![add(1, HOME, "word")]);
    let mut writer = Writer::open(folder.path()).unwrap().unwrap();
    let meta = folder.path().join("meta.json");
    let sound = fs::read(&meta).unwrap();
    fs::write(&meta, "{").unwrap();
    let Opened { index, condition } = KeywordIndex::open(folder.path()).unwrap();
    assert!(matches!(condition, Condition::Awaited { .. }));
    assert_eq!(index.view().documents().unwrap().len(), 0);
    fs::write(&meta, sound).unwrap();
    writer.apply([add(2, HOME, "word")]).unwrap();
    writer.commit(2, 0).unwrap();
    assert!(index.reload().unwrap());
    assert_eq!(index.view().documents().unwrap(), [1, 2]);
}

#[test]
fn damage_under_an_open_writer_is_an_error_and_no_end() {
    let sound = tempfile::tempdir().unwrap();
    sample(sound.path());
    for extension in ["term", "idx", "fast", "fieldnorm", "store", "del"] {
        for byte in [0, 0xff] {
            let folder = copy(sound.path());
            let index = open(folder.path());
            let mut writer = Writer::open(folder.path()).unwrap().unwrap();
            for file in
                files(folder.path()).iter().filter(|file| file.extension().is_some_and(|e| e == extension))
            {
                // In place, and not the checksum itself.
                let length = fs::metadata(file).unwrap().len() as usize;
                let mut file = fs::OpenOptions::new().write(true).open(file).unwrap();
                std::io::Write::write_all(&mut file, &vec![byte; length.saturating_sub(120).max(1)]).unwrap();
            }
            let _ = index.view().words_of(HOME.namespace, |_, _, _| {});
            let _ = index.view().documents();
            let _ = index.view().for_each_term(|_, _| {});
            writer.apply([Entry::Remove { doc: 5 }]).unwrap();
            assert!(matches!(writer.commit(5, 0), Err(crate::error::Error::Index(_))), "{extension}");
            assert!(writer.purge().is_err(), "a failed writer stays closed");
            drop(writer);
            let opened = KeywordIndex::open(folder.path()).unwrap();
            assert!(matches!(opened.condition, Condition::Discarded { .. }), "{extension}");
        }
    }
}

#[test]
fn a_large_index_is_opened_unread_and_its_damage_is_noticed_later() {
    let folder = tempfile::tempdir().unwrap();
    // Terms that share nothing, so that few documents fill more than is read at once.
    let words = |doc: u64| {
        (0..40u64).map(move |n| format!("{:016x}", (doc * 40 + n).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    };
    let entries = (0..7_000).map(|doc| Entry::Add { doc, partition: HOME, terms: words(doc).collect() });
    write(folder.path(), 1, entries.collect());
    let sound = open(folder.path());
    assert!(sound.read_through().is_ok() && sound.read_through().is_ok());
    drop(sound);
    let largest =
        files(folder.path()).into_iter().max_by_key(|file| fs::metadata(file).unwrap().len()).unwrap();
    let mut bytes = fs::read(&largest).unwrap();
    assert!(bytes.len() > 2 << 20, "the sample is too small: {}", bytes.len());
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&largest, bytes).unwrap();

    let Opened { index, condition } = KeywordIndex::open(folder.path()).unwrap();
    assert_eq!(condition, Condition::Found);
    assert!(index.read_through().is_err());
    assert_eq!((index.watermark(), index.view().documents().unwrap().len()), (0, 0), "nothing of it is used");
    drop(Writer::open(folder.path()).unwrap().unwrap());
    let Opened { index, condition } = KeywordIndex::open(folder.path()).unwrap();
    assert_eq!((index.watermark(), condition), (0, Condition::Found), "a writer has begun anew");
}
