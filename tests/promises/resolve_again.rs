//! Every hit is read from the store again: an index that is stale, corrupt, foreign or gone can cost quality,
//! and never returns what should not be seen.

use std::fs;
use std::path::{Path, PathBuf};

use recordari::{Mode, Principal, Reason};

use crate::child::writer;
use crate::remains::files;
use crate::world::{World, by, comparable, contents, someone};

const QUESTIONS: [&str; 3] = ["zephyr", "harbour zephyr", "mild evening"];

/// A store with things to be seen and things not to be, and an index that knows all of them.
struct Stage {
    world: World,
    /// What the caller may be shown.
    visible: Vec<String>,
    /// The derived folder as it was before the latest changes.
    stale: tempfile::TempDir,
}

fn keyword(folder: &Path) -> PathBuf {
    folder.join("derived").join("keyword")
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in files(from) {
        fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
    }
}

fn stage() -> Stage {
    let world = World::new();
    let mei = writer();
    let strangers = [someone("globex", "mei", None), someone("acme", "tom", None)];
    let mut written = Vec::new();
    for number in 0..24 {
        let text = format!("zephyr {number} over the harbour on a mild evening");
        written.push(world.say(&mei, None, &text, &format!("log-{number}")));
        world.say(&strangers[number % 2], None, &format!("{text} of strangers"), "theirs");
        if number % 8 == 7 {
            world.drain();
        }
    }
    let stale = tempfile::tempdir().unwrap();
    copy_files(&keyword(world.path()), stale.path());
    for (number, written) in written.iter().enumerate() {
        match number % 4 {
            0 => drop(world.correct(&mei, written, &format!("calm {number}, no more wind"), "late")),
            1 => drop(world.forget_memory(&mei, &written.memory_id)),
            2 if number % 8 == 2 => drop(world.memory().retire(&mei, &written.record_id, "gone").unwrap()),
            _ => {}
        }
    }
    world.say(&mei, None, "zephyr that came late to the harbour", "late");
    let visible = world.listed(&mei).into_iter().map(|record| record.content).collect();
    Stage { world, visible, stale }
}

fn answers(world: &World, who: &Principal) -> Vec<String> {
    let ask = |mode: &Mode, text| comparable(&world.recall(who, &by(*mode, text)));
    Mode::ALL.iter().flat_map(|mode| QUESTIONS.map(|text| ask(mode, text))).collect()
}

impl Stage {
    /// Whatever the index says, nothing is shown that is not to be seen, and what is shown is as it is now.
    fn assert_nothing_else_is_shown(&self, when: &str) {
        for mode in Mode::ALL {
            for text in QUESTIONS {
                let Ok(answer) = self.world.memory().recall(&writer(), &by(*mode, text)) else {
                    panic!("recall failed {when}")
                };
                for content in contents(&answer) {
                    assert!(self.visible.contains(&content), "{content:?} was shown {when}");
                }
            }
        }
    }
}

#[test]
fn an_index_that_stopped_following_costs_nothing_at_all() {
    let mut stage = stage();
    let expected = answers(&stage.world, &writer());
    stage.world.close();
    fs::remove_dir_all(keyword(stage.world.path())).unwrap();
    copy_files(stage.stale.path(), &keyword(stage.world.path()));
    stage.world.reopen();
    assert_eq!(answers(&stage.world, &writer()), expected, "with an index from before");
    stage.world.assert_sound();
    stage.world.drain();
    assert_eq!(answers(&stage.world, &writer()), expected, "once it has caught up");
    stage.world.assert_sound();
}

#[test]
fn a_file_of_the_index_that_is_gone_cut_short_or_changed_is_noticed_when_the_store_opens() {
    let mut stage = stage();
    stage.world.drain();
    let expected = answers(&stage.world, &writer());
    let damages: [fn(&Path); 5] = [
        |file| fs::remove_file(file).unwrap(),
        |file| fs::write(file, b"").unwrap(),
        |file| {
            let bytes = fs::read(file).unwrap();
            fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
        },
        |file| flip(file, 1, 2),
        |file| flip(file, 7, 8),
    ];
    let names: Vec<String> = kinds(&keyword(stage.world.path()));
    for kind in names {
        for (number, damage) in damages.iter().enumerate() {
            stage.world.close();
            let folder = keyword(stage.world.path());
            let file =
                files(&folder).into_iter().find(|file| file.to_str().unwrap().ends_with(&kind)).unwrap();
            damage(&file);
            stage.world.reopen();
            let when = format!("after damage {number} to {kind}");
            stage.assert_nothing_else_is_shown(&when);
            stage.world.drain();
            assert_eq!(answers(&stage.world, &writer()), expected, "{when}");
        }
    }
    stage.world.assert_sound();
}

/// The kinds of files in the folder, locks excepted.
fn kinds(folder: &Path) -> Vec<String> {
    let mut kinds: Vec<String> = files(folder)
        .iter()
        .map(|file| file.file_name().unwrap().to_str().unwrap().to_owned())
        .filter(|name| !name.ends_with(".lock") && name != ".managed.json")
        .map(|name| name.split_once('.').map(|(_, end)| format!(".{end}")).unwrap())
        .collect();
    kinds.sort();
    kinds.dedup();
    assert!(kinds.len() >= 5, "{kinds:?}");
    kinds
}

/// Flips a bit at that fraction of the file.
fn flip(file: &Path, numerator: usize, denominator: usize) {
    let mut bytes = fs::read(file).unwrap();
    let at = bytes.len() * numerator / denominator;
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 4;
    }
    fs::write(file, bytes).unwrap();
}

#[test]
fn damage_while_the_store_is_open_shows_nothing_else() {
    let replaced: [fn(&Path, &Path); 3] = [
        |file, _| fs::remove_file(file).unwrap(),
        // Put in place of the old one, as a restore would: what is open stays as it is.
        |file, spare| {
            fs::write(spare, b"not what it was").unwrap();
            fs::rename(spare, file).unwrap();
        },
        // In place, under the eyes of whoever has it mapped.
        |file, _| {
            use std::io::{Seek, SeekFrom, Write};
            let length = fs::metadata(file).unwrap().len();
            let mut open = fs::OpenOptions::new().write(true).open(file).unwrap();
            open.seek(SeekFrom::Start(length / 3)).unwrap();
            open.write_all(&vec![0x5a; (length as usize / 3).min(64)]).unwrap();
        },
    ];
    for (number, damage) in replaced.iter().enumerate() {
        let mut stage = stage();
        stage.world.drain();
        let expected = answers(&stage.world, &writer());
        let spare = stage.world.path().join("spare");
        for file in files(&keyword(stage.world.path())) {
            if !file.to_str().unwrap().ends_with(".lock") {
                damage(&file, &spare);
            }
        }
        stage.assert_nothing_else_is_shown(&format!("at once after damage {number}"));
        stage.world.say(&writer(), None, "unrelated to any wind", "chat");
        let _ = stage.world.memory().catch_up(&mut |_, _| {});
        stage.visible.push("unrelated to any wind".to_owned());
        stage.assert_nothing_else_is_shown(&format!("after damage {number}"));
        stage.world.forget(&writer(), recordari::Selector::Source("chat".to_owned()));
        stage.world.reopen();
        assert_eq!(answers(&stage.world, &writer()), expected, "after damage {number} and opening again");
        stage.world.assert_sound();
    }
}

#[test]
fn an_index_that_is_ahead_of_the_store_is_noticed_and_what_it_knows_more_is_skipped() {
    // B151: a crash between the two, or a database that was put back.
    let mut world = World::new();
    let mei = someone("acme", "mei", None);
    world.say(&mei, None, "keeps the lantern in the shed", "chat-1");
    world.drain();
    world.close();
    let before = tempfile::tempdir().unwrap();
    for name in ["recordari.db", "ledger.db"] {
        fs::copy(world.path().join(name), before.path().join(name)).unwrap();
    }
    world.reopen();
    let lost = world.say(&mei, None, "keeps the lantern in the cellar", "chat-2");
    world.drain();
    world.close();
    for name in ["recordari.db", "ledger.db"] {
        fs::copy(before.path().join(name), world.path().join(name)).unwrap();
    }
    let notices = world.reopen();
    assert!(
        notices.iter().any(|notice| notice.contains("it knew writes that the store does not have")),
        "{notices:?}"
    );
    for mode in Mode::ALL {
        assert_eq!(
            contents(&world.recall(&mei, &by(*mode, "lantern"))),
            ["keeps the lantern in the shed"],
            "{mode:?}"
        );
    }
    assert!(world.memory().history(&mei, &lost.memory_id).unwrap().is_empty());
    world.assert_sound();
    assert_eq!(world.reopen(), Vec::<String>::new(), "it is mended");
}

#[test]
fn an_index_of_another_store_is_noticed_and_shows_nothing_else() {
    let mut stage = stage();
    let expected = answers(&stage.world, &writer());
    let other = World::new();
    for number in 0..30 {
        let text = format!("zephyr secret of another store {number}");
        other.say(&someone("acme", "eve", None), None, &text, "x");
    }
    other.drain();
    stage.world.close();
    fs::remove_dir_all(keyword(stage.world.path())).unwrap();
    copy_files(&keyword(other.path()), &keyword(stage.world.path()));
    stage.world.reopen();
    stage.assert_nothing_else_is_shown("with the index of another store");
    stage.world.assert_sound();
    assert_eq!(answers(&stage.world, &writer()), expected, "it was noticed and built again");
}

#[test]
fn a_damaged_record_costs_itself_and_not_the_answer() {
    let world = World::new();
    let mei = writer();
    let sound = world.say(&mei, None, "zephyr over the quiet harbour", "log-1");
    let damaged = world.say(&mei, None, "zephyr over the loud market", "log-2");
    world.drain();
    let unindexed = world.say(&mei, None, "zephyr over the steep meadow", "log-3");
    let database = crate::world::database(&world.path().join("recordari.db"));
    for record in [&damaged, &unindexed] {
        let changed = database
            .execute(
                "UPDATE records SET content = 'zephyr, and what nobody said' WHERE record_id = ?1",
                [record.record_id.as_str()],
            )
            .unwrap();
        assert_eq!(changed, 1);
    }
    let answer = world.recall(&mei, &by(Mode::Hybrid, "zephyr"));
    let hits: Vec<_> = answer.hits.iter().map(|hit| &hit.record.record_id).collect();
    assert_eq!(hits, [&sound.record_id]);
    for record in [&damaged, &unindexed] {
        assert!(answer.left_out.contains(&(record.record_id.clone(), Reason::DamagedRecord)), "{answer:?}");
    }
    let page = recordari::PageRequest { limit: 100, cursor: None };
    let everything = recordari::Filter::All(Vec::new());
    let listed = world.memory().list(&mei, &everything, &recordari::StateFilter::Current, &page).unwrap();
    assert_eq!((listed.total, listed.records.len()), (3, 1));
    assert_eq!(listed.damaged, [unindexed.record_id, damaged.record_id]);
    let findings = world.memory().verify().unwrap();
    assert_eq!(findings.iter().filter(|finding| finding.check == "checksums").count(), 2, "{findings:?}");
}

#[test]
fn a_value_that_cannot_be_costs_its_record_and_not_the_answer() {
    let mut world = World::new();
    let mei = writer();
    let sound = world.say(&mei, None, "zephyr over the quiet harbour", "log-1");
    let damaged = world.say(&mei, None, "zephyr over the loud market", "log-2");
    world.drain();
    world.close();
    for change in ["position = -1, session = 's'", "speaker = CAST(x'ff' AS TEXT)"] {
        let database = crate::world::database(&world.path().join("recordari.db"));
        let sql = format!("UPDATE records SET {change} WHERE record_id = ?1");
        assert_eq!(database.execute(&sql, [damaged.record_id.as_str()]).unwrap(), 1);
        drop(database);
        world.reopen();
        let answer = world.recall(&mei, &by(Mode::Hybrid, "zephyr"));
        let hits: Vec<_> = answer.hits.iter().map(|hit| &hit.record.record_id).collect();
        assert_eq!(hits, [&sound.record_id], "{change}");
        assert!(answer.left_out.contains(&(damaged.record_id.clone(), Reason::DamagedRecord)), "{answer:?}");
        let page = recordari::PageRequest { limit: 100, cursor: None };
        let everything = recordari::Filter::All(Vec::new());
        let listed = world.memory().list(&mei, &everything, &recordari::StateFilter::Current, &page).unwrap();
        assert_eq!((listed.records.len(), listed.damaged.as_slice()), (1, &[damaged.record_id.clone()][..]));
        assert!(!world.memory().verify().unwrap().is_empty(), "{change}");
        world.close();
    }
}

#[test]
fn a_damaged_page_costs_what_is_on_it_and_the_rest_is_recalled_and_listed() {
    let mut world = World::new();
    let mei = writer();
    let many: Vec<_> = (0..600)
        .map(|number| world.said(None, &format!("zephyr number {number} over the quiet harbour"), "log"))
        .collect();
    world.memory().remember_all(&mei, &many).unwrap();
    world.drain();
    world.close();
    // A leaf of the records: in an encrypted store its bytes tell nothing, so one is taken that SQLite names.
    let path = world.path().join("recordari.db");
    let page: i64 = {
        let database = crate::world::database(&path);
        let leaves = "SELECT pageno FROM dbstat WHERE name = 'records' AND pagetype = 'leaf' ORDER BY pageno";
        let mut statement = database.prepare(leaves).unwrap();
        let leaves: Vec<i64> =
            statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert!(leaves.len() > 8, "{leaves:?}");
        leaves[leaves.len() / 2]
    };
    let mut bytes = fs::read(&path).unwrap();
    let begin = (page as usize - 1) * 8192;
    bytes[begin..begin + 8192].fill(0);
    fs::write(&path, bytes).unwrap();
    world.reopen();
    if crate::world::cipher().is_some() {
        // What can't be decrypted ends what a connection can see: it is told, and a backup mends it.
        assert!(world.memory().verify().map_or(true, |findings| !findings.is_empty()));
        return;
    }
    let mut found = std::collections::BTreeSet::new();
    for number in 0..600 {
        let answer = world.recall(&mei, &by(Mode::Keyword, &format!("number {number}")));
        let text = format!("zephyr number {number} over the quiet harbour");
        found.extend(contents(&answer).into_iter().filter(|content| *content == text));
    }
    assert!((480..600).contains(&found.len()), "{} of 600 are served", found.len());
    let answer = world.recall(&mei, &by(Mode::Vector, "zephyr over the harbour"));
    assert!(answer.hits.len() > 3, "{answer:?}");
    let findings = world.memory().verify().unwrap();
    assert!(findings.iter().any(|finding| finding.check == "database"), "{findings:?}");
    // The list goes on behind what can't be read, and says that something is missing.
    let everything = recordari::Filter::All(Vec::new());
    let (mut listed, mut cursor) = (Vec::new(), None);
    loop {
        let page = recordari::PageRequest { limit: 100, cursor };
        let page = world.memory().list(&mei, &everything, &recordari::StateFilter::Current, &page).unwrap();
        assert!(page.unreadable && page.damaged.is_empty(), "{page:?}");
        assert_eq!(page.total as usize, found.len());
        listed.extend(page.records.into_iter().map(|record| record.content));
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    let newest_first: Vec<usize> =
        listed.iter().map(|text| text.split(' ').nth(2).unwrap().parse().unwrap()).collect();
    assert!(newest_first.is_sorted_by(|one, other| one > other), "{newest_first:?}");
    assert_eq!(listed.into_iter().collect::<std::collections::BTreeSet<_>>(), found);
}
