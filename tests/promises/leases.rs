//! A forget is finished when nobody has the old index files open; until then its receipt names who does.

use recordari::{Forgotten, Memory, Mode, Options, Reason};

use crate::child::{Child, writer};
use crate::remains::Canary;
use crate::world::{World, by};

/// A memory that is indexed, and what is needed to forget it.
fn indexed(world: &World) -> recordari::Written {
    let written = world.say(&writer(), None, "orders Marzipanforelle on Tuesdays", "chat");
    world.say(&writer(), None, "another note that stays", "chat");
    world.drain();
    written
}

fn assert_held_by(forgotten: &Forgotten, process: u32) {
    let Forgotten::Incomplete(receipt) = forgotten else { panic!("{forgotten:?}") };
    let expected = (Reason::ReadersHoldFiles, format!("process {process}"));
    assert_eq!(receipt.left, [expected]);
    assert_eq!(receipt.promise.code(), "unreadable");
    assert_eq!(receipt.finished_at, None);
}

#[test]
fn a_process_that_holds_old_files_is_named_until_it_lets_go() {
    let mut world = World::new();
    let written = indexed(&world);
    let mut child = Child::start(world.path());
    assert_eq!(child.ask(&["recall", "Marzipanforelle"]), "orders Marzipanforelle on Tuesdays");
    let forgotten = world.forget_memory(&writer(), &written.memory_id);
    assert_held_by(&forgotten, child.id());
    assert!(world.found(&writer(), Mode::Hybrid, "Marzipanforelle").is_empty());
    assert_eq!(world.memory().stats(&writer()).unwrap()["open_deletions"], 1);
    let again = world.forget_memory(&writer(), &written.memory_id);
    assert_held_by(&again, child.id());
    // Whoever asks how far it is learns the same, and nothing of it from outside of the scope.
    let open = world.memory().deletions(&writer(), true, 10).unwrap();
    assert_eq!(open.len(), 1);
    assert_eq!(open[0].left, again.receipt().unwrap().left);
    assert_eq!(world.memory().receipt(&writer(), &open[0].receipt_id).unwrap(), Some(open[0].clone()));
    assert!(!world.memory().is_overdue(&open[0]));
    let stranger = crate::world::someone("globex", "mei", None);
    assert_eq!(world.memory().receipt(&stranger, &open[0].receipt_id).unwrap(), None);
    assert_eq!(world.memory().deletions(&stranger, false, 10).unwrap(), []);
    world.day("2026-03-01T11:00:01Z");
    assert!(world.memory().is_overdue(&open[0]));
    let counts = world.memory().count_deletions(&writer()).unwrap();
    assert_eq!((counts.all, counts.open, counts.overdue), (1, 1, 1));
    assert_eq!(world.memory().stats(&writer()).unwrap()["overdue_deletions"], 1);

    // The process that holds the files does not find it either, and lets go of them when it recalls.
    assert_eq!(child.ask(&["recall", "Marzipanforelle"]), "");
    let done = world.forget_memory(&writer(), &written.memory_id);
    let Forgotten::Done(receipt) = &done else { panic!("{done:?}") };
    assert_eq!(receipt.receipt_id, again.receipt().unwrap().receipt_id);
    assert_eq!(receipt.promise.code(), "erased");
    let counts = world.memory().count_deletions(&writer()).unwrap();
    assert_eq!((counts.all, counts.open, counts.overdue), (1, 0, 0));
    assert_eq!(world.memory().deletions(&writer(), false, 10).unwrap(), std::slice::from_ref(receipt));
    assert_eq!(Canary::new(&["Marzipanforelle"]).remains(world.path()), [].into());
    assert_eq!(world.forget_memory(&writer(), &written.memory_id).code(), "already_forgotten");
    drop(child);
    world.reopen();
    world.assert_sound();
}

#[test]
fn what_could_not_be_cleaned_up_is_tried_again_without_being_asked() {
    let mut world = World::new();
    let written = indexed(&world);
    let mut child = Child::start(world.path());
    child.ask(&["recall", "note"]);
    let forgotten = world.forget_memory(&writer(), &written.memory_id);
    assert_held_by(&forgotten, child.id());
    world.day("2026-03-01T10:00:06Z");
    world.close();
    // Opening tries too, and can't yet; the background thread does later.
    let background = Options { background: true, ..world.options() };
    let (memory, _) = Memory::open(background).unwrap();
    assert_eq!(memory.count_deletions(&writer()).unwrap().open, 1);
    child.kill();
    drop(child);
    let started = std::time::Instant::now();
    while memory.count_deletions(&writer()).unwrap().open > 0 {
        assert!(started.elapsed() < std::time::Duration::from_secs(60), "nobody has tried again");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(Canary::new(&["Marzipanforelle"]).remains(world.path()), [].into());
}

#[test]
fn the_end_of_a_process_ends_its_hold_however_it_ends() {
    let mut world = World::new();
    let written = indexed(&world);
    let mut child = Child::start(world.path());
    child.ask(&["recall", "note"]);
    assert_held_by(&world.forget_memory(&writer(), &written.memory_id), child.id());
    child.kill();
    drop(child);
    // Opening the store is enough to finish what was left.
    assert_eq!(world.reopen(), Vec::<String>::new());
    assert_eq!(world.memory().stats(&writer()).unwrap()["open_deletions"], 0);
    assert_eq!(world.forget_memory(&writer(), &written.memory_id).code(), "already_forgotten");
    assert_eq!(Canary::new(&["Marzipanforelle"]).remains(world.path()), [].into());
}

#[test]
fn a_handle_that_looks_after_itself_lets_go_by_itself() {
    let world = World::new();
    let written = indexed(&world);
    let (other, _) = Memory::open(Options { background: true, ..world.options() }).unwrap();
    assert_eq!(other.recall(&writer(), &by(Mode::Keyword, "Marzipanforelle")).unwrap().hits.len(), 1);
    let done = world.forget_memory(&writer(), &written.memory_id);
    assert!(matches!(done, Forgotten::Done(_)), "{done:?}");
    assert!(other.recall(&writer(), &by(Mode::Keyword, "Marzipanforelle")).unwrap().hits.is_empty());
}

#[test]
fn a_second_handle_of_the_same_process_counts_like_a_process() {
    let world = World::new();
    let written = indexed(&world);
    let other = world.open_another();
    let forgotten = world.forget_memory(&writer(), &written.memory_id);
    assert_held_by(&forgotten, std::process::id());
    drop(other);
    assert_eq!(world.memory().resume_deletions().unwrap(), 0);
    assert_eq!(world.forget_memory(&writer(), &written.memory_id).code(), "already_forgotten");
}
