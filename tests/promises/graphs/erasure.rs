//! A graph can't forget, so it goes with what is forgotten: its files first, in every process.

use recordari::{Forget, Forgotten, Selector};

use super::*;
use crate::world::contents;

/// The vector of a text that is to be forgotten, which a graph holds by now.
fn held(world: &World, embedded: &str) -> Vec<f32> {
    let vector = Dense::new(7).vector(embedded);
    let files = remains(world.path(), &vector);
    assert!(files.iter().any(|file| file.starts_with(graphs(world))), "the probe must see it: {files:?}");
    vector
}

fn assert_gone(world: &World, text: &str, vector: &[f32]) {
    assert_eq!(remains(world.path(), vector), Vec::<PathBuf>::new());
    let answer = world.recall(&mei(), &asked(text));
    assert_eq!((how(&answer), answer.plan.vectors[0].graph), ("scan", None));
    assert!(!contents(&answer).contains(&text.to_owned()));
}

#[test]
fn no_file_and_no_search_has_what_was_forgotten_however_it_was_selected() {
    let (world, written) = with_graph(ROWS);
    let subject = world.say(&mei(), Some("harbour"), "topic5 is the harbour", "map");
    build(world.memory());
    let first = world.recall(&mei(), &asked(&text(77)));
    assert_eq!((how(&first), contents(&first)[0].clone()), ("graph", text(77)));
    // A subject stands before the text, in what is embedded as well.
    let place = "topic5 is the harbour";
    for (text, embedded, selector) in [
        (text(77), text(77), Selector::Memory(written[77].memory_id.clone())),
        (text(78), text(78), Selector::Source("log-78".to_owned())),
        (place.to_owned(), format!("harbour: {place}"), Selector::Subject("harbour".to_owned())),
    ] {
        let vector = held(&world, &embedded);
        let done = world.forget(&mei(), selector);
        assert!(matches!(done, Forgotten::Done(_)), "{done:?}");
        assert!(!graphs(&world).join("1").exists());
        assert_gone(&world, &text, &vector);
        // A new one is made of what is left.
        build(world.memory());
        let answer = world.recall(&mei(), &asked(&text));
        assert_eq!(how(&answer), "graph");
        assert!(!contents(&answer).contains(&text));
        assert_eq!(remains(world.path(), &vector), Vec::<PathBuf>::new());
    }
    assert!(world.memory().forgotten(&mei(), &subject.memory_id).unwrap().is_some());
    let vector = held(&world, &text(200));
    let done = world.forget(&mei(), Selector::Everything);
    assert!(matches!(done, Forgotten::Done(_)), "{done:?}");
    assert_eq!(remains(world.path(), &vector), Vec::<PathBuf>::new());
    assert_eq!(build(world.memory()), (0, 0));
}

#[test]
fn many_erasures_together_take_the_graph_of_each_namespace() {
    let (world, written) = with_graph(ROWS);
    let (text, vector) = (text(31), held(&world, &text(31)));
    let request = Forget::new(Selector::Memory(written[31].memory_id.clone()), "asked for");
    let who = mei();
    let all = world.memory().forget_all(&[(&who, &request)]).unwrap();
    assert!(matches!(&all[0], Ok(Forgotten::Done(_))));
    assert_gone(&world, &text, &vector);
}

#[test]
fn another_handle_lets_go_of_a_graph_whose_files_are_gone() {
    let (world, written) = with_graph(ROWS);
    let other = world.open_another();
    assert_eq!(other.recall(&mei(), &asked(&text(31))).unwrap().plan.vectors[0].graph, None);
    assert_eq!(build(&other), (1, 0), "what was built is read");
    let there = other.recall(&mei(), &asked(&text(31))).unwrap();
    assert_eq!((how(&there), contents(&there)[0].clone()), ("graph", text(31)));
    world.forget_memory(&mei(), &written[31].memory_id);
    let there = other.recall(&mei(), &asked(&text(31))).unwrap();
    assert_eq!((how(&there), there.plan.vectors[0].graph), ("scan", None));
    assert!(!contents(&there).contains(&text(31)));
    // And takes on the next one.
    assert_eq!(build(world.memory()).0, 1);
    assert_eq!(build(&other), (1, 0));
    assert_eq!(how(&other.recall(&mei(), &asked(&text(31))).unwrap()), "graph");
}

#[test]
fn a_graph_in_the_making_is_given_up_when_something_is_forgotten_meanwhile() {
    let (world, written) = world_of(1_500, policy(300));
    let other = world.open_another();
    let vector = Dense::new(7).vector(&text(5));
    let mut calls = 0;
    let graphs_now = other
        .build_graphs(&mut |_, _| {
            calls += 1;
            let done = world.forget_memory(&mei(), &written[5].memory_id);
            // The other handle has the keyword index open, which is named in the receipt.
            assert!(matches!(done, Forgotten::Incomplete(_) | Forgotten::Already(_)), "{done:?}");
            true
        })
        .unwrap();
    assert_eq!((graphs_now, calls), (0, 1), "it ends at the next slice");
    assert!(!graphs(&world).join("1").exists());
    drop(other);
    assert_eq!(world.memory().resume_deletions().unwrap(), 0);
    assert_eq!(remains(world.path(), &vector), Vec::<PathBuf>::new());
    assert_eq!(build(world.memory()), (1, 1_499));
}

#[test]
fn a_half_written_graph_and_one_that_a_crash_left_go_with_what_is_forgotten() {
    let (world, written) = with_graph(ROWS);
    let vector = held(&world, &text(8));
    // As a crash in the middle of writing would leave it.
    std::fs::create_dir(graphs(&world).join("1.part")).unwrap();
    for name in ["graph.hnsw.data", "graph.hnsw.graph"] {
        let whole = graphs(&world).join("1").join(name);
        std::fs::copy(&whole, graphs(&world).join("1.part").join(name)).unwrap();
    }
    let saved = tempfile::tempdir().unwrap();
    let saved = saved.path().join("old");
    copy(&graphs(&world).join("1"), &saved);
    world.forget_memory(&mei(), &written[8].memory_id);
    assert_eq!(remains(world.path(), &vector), Vec::<PathBuf>::new());
    // One from before the deletion, put back by whatever means, is thrown away.
    copy(&saved, &graphs(&world).join("1"));
    assert!(!remains(world.path(), &vector).is_empty());
    assert_eq!(build(world.memory()), (1, ROWS as u64 - 1));
    assert_eq!(remains(world.path(), &vector), Vec::<PathBuf>::new());
}

#[test]
fn a_deletion_that_waits_for_a_writer_of_graphs_says_so_and_can_be_resumed() {
    let (mut world, written) = with_graph(ROWS);
    let (text, vector) = (text(8), held(&world, &text(8)));
    let busy = std::fs::File::open(graphs(&world).join("files.lock")).unwrap();
    busy.try_lock().unwrap();
    let done = world.forget_memory(&mei(), &written[8].memory_id);
    let Forgotten::Incomplete(receipt) = &done else { panic!("{done:?}") };
    assert_eq!(receipt.left[0].0.code(), "index_busy");
    assert!(!contents(&world.recall(&mei(), &asked(&text))).contains(&text));
    drop(busy);
    world.reopen();
    assert_gone(&world, &text, &vector);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in files(from) {
        std::fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
    }
}
