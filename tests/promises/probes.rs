//! The probe finds what is left, wherever it is, and calls no place clean that it could not read.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use recordari::index::keyword::{Entry, Home, KeywordIndex, Partition, Writer};
use recordari::text::terms;
use recordari::{Candidate, Embedder, Forgotten, HashingEmbedder, Principal, Probed, Selector, Written};

use crate::world::{World, someone};

const TEXT: &str = "orders Marzipanforelle 杏仁鳟鱼 with extra almonds";

fn probe(world: &World, who: &Principal, others: &[PathBuf]) -> Probed {
    world.memory().probe(who, &[TEXT.to_owned()], others, &mut |_, _| {}).unwrap()
}

fn found_in(probed: &Probed) -> Vec<&str> {
    let found = probed.places.iter().filter(|place| place.copies + place.parts > 0);
    found.map(|place| place.name.as_str()).collect()
}

/// A store in which one memory was forgotten, and another is there.
fn forgotten() -> (World, Principal, Written) {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let lunch = world.say(&mei, Some("lunch"), TEXT, "chat-1#4");
    world.say(&mei, None, "walks home with extra almonds in the pocket", "chat-2");
    world.drain();
    let before = probe(&world, &mei, &[]);
    assert!(before.is_found() && !before.is_blind());
    let seen = found_in(&before);
    assert!(seen.iter().any(|name| name.starts_with("recordari.db")), "{seen:?}");
    assert_eq!(seen.iter().filter(|name| name.starts_with("answers to the caller")).count(), 3, "{seen:?}");
    assert!(matches!(world.forget_memory(&mei, &lunch.memory_id), Forgotten::Done(_)));
    (world, mei, lunch)
}

#[test]
fn what_was_forgotten_is_found_before_and_nowhere_after() {
    let (world, mei, _) = forgotten();
    let after = probe(&world, &mei, &[]);
    assert!(!after.is_found() && !after.is_blind(), "{after:?}");
    assert!(after.control.iter().any(|name| name.starts_with("recordari.db")), "{:?}", after.control);
    assert!(after.control.iter().any(|name| name.starts_with("keyword index")), "{:?}", after.control);
    assert!(!format!("{after:?}").contains("Marzipan"), "a probe tells no content");
    // Of nothing that is there nothing can be shown, and nothing is claimed.
    assert!(matches!(world.forget(&mei, Selector::Everything), Forgotten::Done(_)));
    let empty = probe(&world, &mei, &[]);
    assert!(!empty.is_found() && empty.control.is_empty(), "{empty:?}");
    world.assert_sound();
}

#[test]
fn every_way_of_writing_it_is_found_in_any_file_once() {
    let (world, mei, _) = forgotten();
    let utf16 = |big: bool| -> Vec<u8> {
        TEXT.encode_utf16()
            .flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() })
            .collect()
    };
    let json: String = TEXT
        .encode_utf16()
        .map(|unit| if unit < 128 { char::from(unit as u8).to_string() } else { format!("\\u{unit:04x}") })
        .collect();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let percent: String = TEXT.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let mut long = vec![b'x'; (4 << 20) - 20];
    long.extend_from_slice(TEXT.as_bytes());
    long.extend_from_slice(&vec![b'y'; 4 << 20]);
    let ways: Vec<(&str, Vec<u8>)> = vec![
        ("plain", TEXT.as_bytes().to_vec()),
        ("upper", TEXT.to_uppercase().into_bytes()),
        ("lower", TEXT.to_lowercase().into_bytes()),
        ("mixed", TEXT.replace("orders Marzipan", "oRdErS mArZiPaN").into_bytes()),
        ("utf16le", utf16(false)),
        ("utf16be", utf16(true)),
        ("json", json.into_bytes()),
        ("hex", hex(TEXT.as_bytes()).into_bytes()),
        ("percent", percent.into_bytes()),
        ("base64", b"b3JkZXJzIE1hcnppcGFuZm9yZWxsZSDmnY/ku4Hps5/psbwgd2l0aCBleHRyYSBhbG1vbmRz".to_vec()),
        ("over the edge of what is read at once", long),
    ];
    for (name, bytes) in &ways {
        let folder = world.path().join("deep").join("er");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("file");
        fs::write(&path, [b"before ", bytes.as_slice(), b" after"].concat()).unwrap();
        let probed = probe(&world, &mei, &[]);
        assert_eq!(found_in(&probed), ["deep/er/file"], "{name}");
        let place = probed.places.iter().find(|place| place.name == "deep/er/file").unwrap();
        assert_eq!(place.copies, 1, "{name}");
        fs::remove_file(&path).unwrap();
    }
    // A part that no memory has tells too; one that a memory has does not.
    for (part, is_found) in
        [("Marzipanforelle", true), ("杏仁鳟鱼", true), ("with extra almonds", false), ("almonds", false)]
    {
        fs::write(world.path().join("part"), format!("…{part}…")).unwrap();
        let probed = probe(&world, &mei, &[]);
        assert_eq!(probed.is_found(), is_found, "{part}: {probed:?}");
    }
}

/// Breaks the store in one way that a clean-up could be wrong in.
type Mutant = fn(&World, &Written) -> Option<fs::File>;

fn database(world: &World, secure: bool) -> rusqlite::Connection {
    let connection = crate::world::database(&world.path().join("recordari.db"));
    connection.pragma_update(None, "secure_delete", secure).unwrap();
    connection
}

#[test]
fn whatever_a_clean_up_could_leave_is_found() {
    let mutants: [(&str, &str, Mutant); 13] = [
        ("secure_delete is off", "recordari.db", |world, _| {
            let connection = database(world, false);
            connection.execute_batch("CREATE TABLE scratch (text TEXT)").unwrap();
            connection.execute("INSERT INTO scratch VALUES (?1)", [TEXT]).unwrap();
            connection.execute_batch("DROP TABLE scratch; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
            None
        }),
        ("the journal is not emptied", "recordari.db-wal", |world, _| {
            let connection = database(world, true);
            connection.execute_batch("CREATE TABLE scratch (text TEXT)").unwrap();
            connection.execute("INSERT INTO scratch VALUES (?1)", [TEXT]).unwrap();
            connection.execute_batch("DROP TABLE scratch").unwrap();
            // Kept open, so that closing it does not empty the journal.
            std::mem::forget(connection);
            None
        }),
        ("an older version keeps its text", "recordari.db", |world, written| {
            let connection = database(world, true);
            let sql = "UPDATE records SET write_reason = ?2 WHERE record_id = ?1";
            assert_eq!(connection.execute(sql, [written.record_id.as_str(), TEXT]).unwrap(), 1);
            None
        }),
        ("the vector stays", "what forgotten records still hold", |world, written| {
            let sql = "UPDATE records SET vectors = x'00112233' WHERE record_id = ?1";
            assert_eq!(database(world, true).execute(sql, [written.record_id.as_str()]).unwrap(), 1);
            None
        }),
        ("the source stays", "what forgotten records still hold", |world, written| {
            let sql = "UPDATE records SET source = 'chat-1' WHERE record_id = ?1";
            assert_eq!(database(world, true).execute(sql, [written.record_id.as_str()]).unwrap(), 1);
            None
        }),
        ("the vector of another model stays", "what forgotten records still hold", |world, written| {
            let sql = "INSERT INTO coming_vectors SELECT id, 1, x'00' FROM records WHERE record_id = ?1";
            assert_eq!(database(world, true).execute(sql, [written.record_id.as_str()]).unwrap(), 1);
            None
        }),
        ("the words stay in the index", "words that no memory has", |_, _| None),
        ("the ledger tells too much", "ledger.db", |world, _| {
            let connection = crate::world::database(&world.path().join("ledger.db"));
            connection.execute_batch("CREATE TABLE scratch (text TEXT)").unwrap();
            connection.execute("INSERT INTO scratch VALUES (?1)", [TEXT]).unwrap();
            None
        }),
        ("a trace tells too much", "traces.db", |world, _| {
            let connection = crate::world::database(&world.path().join("traces.db"));
            connection.execute_batch("CREATE TABLE scratch (text TEXT)").unwrap();
            connection.execute("INSERT INTO scratch VALUES (?1)", [&TEXT.to_uppercase()]).unwrap();
            None
        }),
        ("a receipt tells too much", "recordari.db", |world, _| {
            let sql = "UPDATE deletion_jobs SET body = json_set(body, '$.reason', ?1)";
            assert_eq!(database(world, true).execute(sql, [TEXT]).unwrap(), 1);
            None
        }),
        ("a candidate stays in the queue", "recordari.db", |world, _| {
            let sql = "INSERT INTO candidates (candidate_id, namespace, queued_at, reason, source, sensitivity, text_key, body)
                       VALUES ('can_x', 1, 0, 'low_confidence', 'chat-9', 'internal', x'00', ?1)";
            database(world, true).execute(sql, [serde_json::json!({ "content": TEXT }).to_string()]).unwrap();
            None
        }),
        ("a derived file is left over", "derived/graphs/old", |world, _| {
            fs::create_dir_all(world.path().join("derived/graphs")).unwrap();
            fs::write(world.path().join("derived/graphs/old"), "zz Marzipanforelle zz").unwrap();
            None
        }),
        ("a deleted file is still open", "deleted files that a process still has open", |world, _| {
            let path = world.path().join("derived").join("old.term");
            let mut file = fs::File::create(&path).unwrap();
            file.write_all(TEXT.as_bytes()).unwrap();
            fs::remove_file(path).unwrap();
            Some(file)
        }),
    ];
    for (what, place, break_it) in mutants {
        let (mut world, mei, written) = forgotten();
        assert!(!probe(&world, &mei, &[]).is_found(), "{what}");
        let held = break_it(&world, &written);
        if place == "words that no memory has" {
            world.close();
            index_words(world.path());
            world.reopen();
        }
        let probed = probe(&world, &mei, &[]);
        assert!(found_in(&probed).iter().any(|name| name.contains(place)), "{what}: {:?}", found_in(&probed));
        drop(held);
    }
}

/// Leaves a document in the index that the store does not have.
fn index_words(folder: &Path) {
    let key = crate::world::cipher().map(|cipher| cipher.of_derived());
    let home = Home::new(folder.join("derived").join("keyword"), key);
    let (watermark, history) = {
        let view = KeywordIndex::open(&home).unwrap().index.view();
        (view.watermark(), view.history())
    };
    let mut writer = Writer::open(&home).unwrap().unwrap();
    let partition = Partition { namespace: 1, class: 1 };
    writer.apply([Entry::Add { doc: 1 << 36 | 999, partition, terms: terms(TEXT) }]).unwrap();
    writer.commit(watermark, history).unwrap();
}

#[test]
fn other_folders_are_looked_through_and_what_cannot_be_read_is_not_called_clean() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    let lunch = world.say(&mei, Some("lunch"), TEXT, "chat-1#4");
    world.say(&mei, None, "walks home afterwards", "chat-2");
    world.drain();
    let elsewhere = tempfile::tempdir().unwrap();
    let backup = elsewhere.path().join("backup");
    world.memory().backup(&backup).unwrap();
    assert!(matches!(world.forget_memory(&mei, &lunch.memory_id), Forgotten::Done(_)));
    assert!(!probe(&world, &mei, &[]).is_found());
    let probed = probe(&world, &mei, std::slice::from_ref(&backup));
    let expected = backup.join("recordari.db").display().to_string();
    assert_eq!(found_in(&probed), [expected.as_str()]);
    let missing = probe(&world, &mei, &[elsewhere.path().join("nothing")]);
    assert!(missing.is_blind() && !missing.is_found(), "{missing:?}");
    // A file of an index that nothing uses any more may hold words that no search of its bytes would find.
    let stray = world.path().join("derived").join("keyword").join("00112233445566778899aabbccddeeff.term");
    fs::write(&stray, "packed").unwrap();
    let strayed = probe(&world, &mei, &[]);
    assert!(strayed.is_blind() && !strayed.is_found(), "{strayed:?}");
    fs::remove_file(stray).unwrap();
    assert!(!probe(&world, &mei, &[]).is_blind());
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(elsewhere.path(), world.path().join("derived").join("link")).unwrap();
        let linked = probe(&world, &mei, &[]);
        assert!(linked.is_blind() && !linked.is_found(), "{linked:?}");
    }
}

/// A copy of a folder in another.
fn copied(from: &Path, to: &Path) {
    for file in crate::remains::files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(file, target).unwrap();
    }
}

#[test]
fn words_of_a_segment_that_no_index_in_use_has_are_decoded() {
    let world = World::new();
    let mei = someone("acme", "mei", None);
    world.say(&mei, None, "walks home with extra almonds", "chat-2");
    world.drain();
    let derived = world.path().join("derived");
    let keyword = derived.join("keyword");
    // What a crash has left of an index without the words is no finding, and can be told.
    let left = derived.join("keyword-before");
    copied(&keyword, &left);
    let clean = probe(&world, &mei, &[]);
    assert!(!clean.is_found() && !clean.is_blind(), "{clean:?}");
    fs::remove_dir_all(&left).unwrap();
    let lunch = world.say(&mei, None, TEXT, "chat-1#4");
    world.drain();
    let elsewhere = tempfile::tempdir().unwrap();
    for stray in [left, elsewhere.path().join("copy")] {
        copied(&keyword, &stray);
    }
    assert!(matches!(world.forget_memory(&mei, &lunch.memory_id), Forgotten::Done(_)));
    let found = probe(&world, &mei, &[elsewhere.path().to_owned()]);
    let places = found_in(&found);
    for folder in ["derived/keyword-before/", "copy/"] {
        let is_decoded =
            |name: &&str| name.contains(folder) && name.ends_with("decoded: words that no memory has");
        assert!(places.iter().any(is_decoded), "{folder}: {places:?}");
    }
    assert!(!found.is_blind(), "{found:?}");
    // One that does not match its checksum can't be trusted.
    let is_terms = |file: &PathBuf| file.extension().is_some_and(|end| end == "term");
    let files = crate::remains::files(elsewhere.path());
    let holds = |file: &&PathBuf| is_terms(file) && fs::metadata(file).unwrap().len() > 0;
    for file in files.iter().filter(holds) {
        let mut bytes = fs::read(file).unwrap();
        bytes[3] ^= 1;
        fs::write(file, bytes).unwrap();
    }
    assert!(probe(&world, &mei, &[elsewhere.path().to_owned()]).is_blind());
}

/// Packs the vectors of a text as the store has them.
fn packed(text: &str) -> Vec<u8> {
    let model = HashingEmbedder::new(256).unwrap();
    let mut bytes = Vec::new();
    for vector in model.embed_passages(&[text]).unwrap().concat() {
        recordari::simd::pack(&vector, &mut bytes);
    }
    bytes
}

#[test]
fn a_vector_of_the_text_is_found_wherever_its_bytes_are() {
    const VECTORS: &str = "vectors of the texts, in the bytes of every file";
    let (mut world, mei, written) = forgotten();
    let scratch = world.path().join("derived").join("scratch");
    let clean = probe(&world, &mei, &[]);
    assert!(!clean.is_found() && !clean.is_blind(), "{clean:?}");
    assert!(
        clean.control.iter().any(|place| place.starts_with("vectors, in recordari.db")),
        "{:?}",
        clean.control
    );
    // In a file, and in a page that is in no table any more.
    fs::write(&scratch, [&b"zz"[..], &packed(TEXT), b"zz"].concat()).unwrap();
    assert_eq!(found_in(&probe(&world, &mei, &[])), [VECTORS]);
    fs::remove_file(&scratch).unwrap();
    {
        let connection = database(&world, false);
        connection.execute_batch("CREATE TABLE scratch (vectors BLOB)").unwrap();
        connection.execute("INSERT INTO scratch VALUES (?1)", [packed(TEXT).repeat(20)]).unwrap();
        connection.execute_batch("DROP TABLE scratch; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    }
    assert_eq!(found_in(&probe(&world, &mei, &[])), [VECTORS]);
    database(&world, true).execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    assert!(!probe(&world, &mei, &[]).is_found());
    // The vector of another text is none of this one, and that of a memory which says the same is rightly there.
    fs::write(&scratch, packed("walks home with extra almonds in the pocket")).unwrap();
    assert!(!probe(&world, &mei, &[]).is_found());
    fs::write(&scratch, packed(TEXT)).unwrap();
    let renewed = Candidate { renew_consent: true, ..world.said(None, TEXT, "chat-9") };
    world.day("2026-03-02T10:00:00Z");
    let renewed = Candidate { observed_at: Some(world.memory().now()), ..renewed };
    assert!(world.remember(&mei, &renewed).written().is_some());
    let probed = probe(&world, &mei, &[]);
    assert!(!found_in(&probed).contains(&VECTORS), "{probed:?}");
    assert_ne!(written.memory_id.as_str(), "");
    // Without the model that made them nothing can be said of them.
    world.embedder = None;
    world.reopen();
    let blind = probe(&world, &mei, &[]);
    let place = blind.places.iter().find(|place| place.name == VECTORS).unwrap();
    assert!(place.unreadable.is_some() && blind.is_blind(), "{blind:?}");
}

#[test]
fn a_vector_that_was_given_to_another_record_is_found_by_its_likeness() {
    const NEAR: &str = "vectors in the database, by similarity";
    let (world, mei, _) = forgotten();
    let walk = world.say(&mei, None, "takes the bus when it rains", "chat-3");
    // A memory that says nearly the same has its own vector.
    world.say(&mei, None, &TEXT.to_uppercase().replace("EXTRA", "some"), "chat-4");
    let clean = probe(&world, &mei, &[]);
    let place = clean.places.iter().find(|place| place.name == NEAR).unwrap();
    assert!(place.looked_at >= 3 && place.copies == 0 && !clean.is_blind(), "{clean:?}");
    // Turned a little, so that no stretch of its bytes is the text's.
    let model = HashingEmbedder::new(256).unwrap();
    let vector = &model.embed_passages(&[TEXT]).unwrap()[0][0];
    let turned: Vec<f32> = vector.iter().enumerate().map(|(at, x)| x + 0.004 * (at as f32).sin()).collect();
    let mut bytes = Vec::new();
    recordari::simd::pack(&turned, &mut bytes);
    let sql = "UPDATE records SET vectors = ?2 WHERE record_id = ?1";
    let given = rusqlite::params![walk.record_id.as_str(), bytes];
    assert_eq!(database(&world, true).execute(sql, given).unwrap(), 1);
    assert_eq!(found_in(&probe(&world, &mei, &[])), [NEAR]);
}

/// A text in the middle of others, packed in every way.
fn packed_ways(text: &str) -> Vec<(&'static str, Vec<u8>)> {
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    let filler: String = (0..30_000).map(|number| format!("line {number} of a log\n")).collect();
    // What has been met before is not written again, in any of these ways: of the whole no copy is to be seen.
    let half = text.char_indices().nth(text.chars().count() / 2).unwrap().0;
    let (first, second) = text.split_at(half);
    let whole = format!("{filler}{first}\n{second}\n{text}{filler}");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(whole.as_bytes()).unwrap();
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
    zlib.write_all(whole.as_bytes()).unwrap();
    let mut deflate = DeflateEncoder::new(Vec::new(), Compression::best());
    deflate.write_all(whole.as_bytes()).unwrap();
    // The head of a file in an archive: packed, with a name of five bytes and two more.
    let mut zip = b"PK\x03\x04\x14\0\0\0\x08\0".to_vec();
    zip.extend([0; 16]);
    zip.extend([5, 0, 2, 0]);
    zip.extend(b"a.txtxx");
    zip.extend(deflate.finish().unwrap());
    let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
    lz4.write_all(whole.as_bytes()).unwrap();
    let zstd =
        ruzstd::encoding::compress_to_vec(whole.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    vec![
        ("gzip", gzip.finish().unwrap()),
        ("zlib", zlib.finish().unwrap()),
        ("zip", zip),
        ("lz4", lz4.finish().unwrap()),
        ("zstandard", zstd),
    ]
}

#[test]
fn what_is_packed_in_a_file_is_unpacked_wherever_it_begins() {
    let (world, mei, _) = forgotten();
    let (name, path) = ("packed", world.path().join("packed"));
    for (way, bytes) in packed_ways(TEXT) {
        assert!(bytes.windows(TEXT.len()).all(|window| window != TEXT.as_bytes()), "{way} is not packed");
        // By itself, and in the middle of another file, over the edge of what is read at once.
        for before in [0, (4 << 20) - 2] {
            fs::write(&path, [&vec![b'.'; before], bytes.as_slice(), b"..."].concat()).unwrap();
            let probed = probe(&world, &mei, &[]);
            assert_eq!(found_in(&probed), [name], "{way} after {before} bytes");
            let place = probed.places.iter().find(|place| place.name == name).unwrap();
            assert!(place.copies == 1 && place.unreadable.is_none(), "{way}: {place:?}");
        }
        // A broken end does not hide what comes before it.
        let mut broken = bytes.clone();
        let end = broken.len() - 40;
        broken[end..].fill(0xff);
        fs::write(&path, broken).unwrap();
        assert!(probe(&world, &mei, &[]).is_found(), "{way}, broken at its end");
        // What is cut off is looked at as far as it goes.
        fs::write(&path, &bytes[..bytes.len() / 4]).unwrap();
        assert!(!probe(&world, &mei, &[]).is_found(), "{way}");
    }
    let other = packed_ways("nothing of the kind, by any name").remove(0).1;
    fs::write(&path, other).unwrap();
    let probed = probe(&world, &mei, &[]);
    assert!(!probed.is_found() && !probed.is_blind(), "{probed:?}");
    // What has no end is not called clean.
    let mut endless = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..1100 {
        endless.write_all(&vec![0; 1 << 20]).unwrap();
    }
    fs::write(&path, endless.finish().unwrap()).unwrap();
    let probed = probe(&world, &mei, &[]);
    assert!(probed.is_blind() && !probed.is_found(), "{probed:?}");
}

#[cfg(feature = "graph")]
#[test]
fn a_graph_that_keeps_a_vector_of_what_was_forgotten_is_found() {
    let mut world = World::with_policy(recordari::Policy::parse("[recall]\ngraph_from = 100\n").unwrap());
    let mei = someone("acme", "mei", None);
    let many: Vec<Candidate> =
        (0..120).map(|number| world.said(None, &format!("walks home on day {number}"), "diary")).collect();
    world.memory().remember_all(&mei, &many).unwrap();
    let lunch = world.say(&mei, None, TEXT, "chat-1#4");
    world.drain();
    if world.memory().build_graphs(&mut |_, _| true).unwrap() == 0 {
        assert!(crate::world::cipher().is_some(), "only an encrypted store has no graphs");
        return;
    }
    let graphs = world.path().join("derived").join("graphs");
    let kept = tempfile::tempdir().unwrap();
    copied(&graphs, kept.path());
    assert!(matches!(world.forget_memory(&mei, &lunch.memory_id), Forgotten::Done(_)));
    let clean = probe(&world, &mei, &[]);
    assert!(!clean.is_found() && !clean.is_blind(), "{clean:?}");
    copied(kept.path(), &graphs);
    let found = probe(&world, &mei, &[]);
    assert_eq!(found_in(&found), ["graphs, decoded: vectors of what is not there"], "{found:?}");
    // One that can't be read is not called clean.
    let header =
        crate::remains::files(&graphs).into_iter().find(|file| file.ends_with("graph.header")).unwrap();
    fs::write(header, "torn").unwrap();
    assert!(probe(&world, &mei, &[]).is_blind());
    world.close();
}

#[test]
fn what_cannot_be_told_from_chance_is_refused() {
    let (world, mei, _) = forgotten();
    let refused = |texts: &[&str]| {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        world.memory().probe(&mei, &texts, &[], &mut |_, _| {}).unwrap_err().to_string()
    };
    assert!(refused(&[]).contains("1 to 1000"));
    let short = refused(&["long enough", "ab"]);
    assert!(short.contains("line 2") && !short.contains("ab "), "{short}");
    // As much as may be asked is looked for, and takes seconds.
    let long: String = (0..20_000).map(|number| format!("w{number} ")).collect();
    let started = std::time::Instant::now();
    world.memory().probe(&mei, &[long[..60_000].to_owned()], &[], &mut |_, _| {}).unwrap();
    assert!(started.elapsed() < std::time::Duration::from_secs(60), "{:?}", started.elapsed());
    assert!(refused(&vec!["x".repeat(2000).as_str(); 999]).contains("bytes together"));
}
