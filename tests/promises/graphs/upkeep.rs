//! When a graph is built, by whom, and what becomes of one that can't be used.

use std::time::{Duration, Instant};

use recordari::Options;

use super::*;

fn files_of(world: &World) -> Vec<PathBuf> {
    let folder = graphs(world).join("1");
    if folder.exists() { files(&folder) } else { Vec::new() }
}

#[test]
fn without_the_policy_there_is_no_graph_and_no_file() {
    let (world, written) = world_of(400, policy(0));
    assert_eq!(build(world.memory()), (0, 0));
    let answer = world.recall(&mei(), &asked("topic1 query"));
    assert_eq!((how(&answer), answer.plan.vectors[0].graph), ("scan", None));
    world.forget_memory(&mei(), &written[3].memory_id);
    assert!(!graphs(&world).exists());
}

#[test]
fn a_small_namespace_gets_none_until_it_has_grown() {
    let (world, _) = world_of(299, policy(300));
    assert_eq!(build(world.memory()), (0, 0));
    world.commit(&mei(), &said(&world, 300));
    assert_eq!(build(world.memory()), (1, 300));
}

#[cfg(unix)]
#[test]
fn the_files_are_for_nobody_else() {
    use std::os::unix::fs::PermissionsExt;
    let (world, _) = with_graph(400);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(files_of(&world).len(), 3);
    for file in files(&graphs(&world)) {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    assert_eq!((mode(&graphs(&world)), mode(&graphs(&world).join("1"))), (0o700, 0o700));
}

#[test]
fn a_graph_is_read_back_and_a_damaged_or_foreign_one_is_built_anew() {
    let (mut world, _) = with_graph(400);
    let question = asked("topic8 query");
    let before = ids(&world.recall(&mei(), &question));
    world.reopen();
    assert_eq!(how(&world.recall(&mei(), &question)), "scan", "serving waits for nothing");
    assert_eq!(build(world.memory()), (1, 0));
    let read = world.recall(&mei(), &question);
    assert_eq!((how(&read), ids(&read)), ("graph", before.clone()));
    for file in files_of(&world) {
        let mut bytes = std::fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        std::fs::write(&file, bytes).unwrap();
        world.reopen();
        assert_eq!(ids(&world.recall(&mei(), &question)), before);
        assert_eq!(build(world.memory()), (1, 400), "{}", file.display());
        assert_eq!(how(&world.recall(&mei(), &question)), "graph");
    }
    // That of another store has another history.
    let (other, _) = with_graph(400);
    std::fs::remove_dir_all(graphs(&world).join("1")).unwrap();
    std::fs::rename(graphs(&other).join("1"), graphs(&world).join("1")).unwrap();
    world.reopen();
    world.recall(&mei(), &question);
    assert_eq!(build(world.memory()), (1, 400));
}

#[test]
fn an_interrupted_build_keeps_what_it_has_and_goes_on() {
    let (mut world, _) = world_of(1_500, policy(300));
    let mut told = Vec::new();
    let stopped = world.memory().build_graphs(&mut |done, of| {
        told.push((done, of));
        false
    });
    assert_eq!((stopped.unwrap(), told), (0, vec![(1_024, 1_500)]));
    let part = world.recall(&mei(), &asked("topic1 query"));
    assert_eq!((how(&part), part.plan.vectors[0].graph), ("scan", Some((1_024, 476))));
    world.reopen();
    assert_eq!(build(world.memory()), (1, 476));
    let whole = world.recall(&mei(), &asked("topic1 query"));
    assert_eq!((how(&whole), whole.plan.vectors[0].graph), ("graph", Some((1_500, 0))));
    let exact = world.recall(&mei(), &Query { exact: true, ..asked("topic1 query") });
    assert_eq!(ids(&whole), ids(&exact));
}

#[test]
fn one_builds_at_a_time() {
    let (world, _) = world_of(400, policy(300));
    std::fs::create_dir_all(graphs(&world)).unwrap();
    let other = std::fs::File::create(graphs(&world).join("builder.lock")).unwrap();
    other.try_lock().unwrap();
    assert_eq!(build(world.memory()), (0, 0));
    drop(other);
    assert_eq!(build(world.memory()), (1, 400));
}

#[test]
fn an_open_memory_builds_in_the_background_and_closes_promptly() {
    let (mut world, _) = world_of(ROWS, policy(300));
    let options = |world: &World| Options { background: true, ..world.options() };
    world.memory = Some(Memory::open(options(&world)).unwrap().0);
    let question = asked("topic8 query");
    let begun = Instant::now();
    while how(&world.recall(&mei(), &question)) != "graph" {
        assert!(begun.elapsed() < Duration::from_secs(60), "it was never built");
        std::thread::sleep(Duration::from_millis(50));
    }
    // A large one is left in the middle.
    let more: Vec<Candidate> = (ROWS..4 * ROWS).map(|number| said(&world, number)).collect();
    world.memory().remember_all(&mei(), &more).unwrap();
    world.recall(&mei(), &question);
    std::thread::sleep(Duration::from_millis(900));
    let closing = Instant::now();
    world.close();
    assert!(closing.elapsed() < Duration::from_secs(20), "{:?}", closing.elapsed());
    world.reopen();
    assert_eq!(build(world.memory()).0, 1);
    assert_eq!(how(&world.recall(&mei(), &question)), "graph");
}

#[test]
fn a_rebuild_and_another_model_begin_anew() {
    let (mut world, _) = with_graph(400);
    let question = asked("topic8 query");
    let before = ids(&world.recall(&mei(), &question));
    assert!(world.memory().rebuild(&mut |_, _| {}).unwrap());
    assert_eq!(files_of(&world), Vec::<PathBuf>::new());
    let without = world.recall(&mei(), &question);
    assert_eq!((how(&without), ids(&without)), ("scan", before));
    assert_eq!(build(world.memory()), (1, 400));

    let old = Dense::new(7).vector(&text(9));
    assert!(!remains(&graphs(&world), &old).is_empty());
    world.embedder = Some(Arc::new(Dense::new(8)));
    world.reopen();
    assert_eq!(world.memory().reembed(&mut |_, _| {}).unwrap(), 400);
    assert!(remains(world.path(), &old).is_empty());
    assert_eq!(how(&world.recall(&mei(), &question)), "scan");
    assert_eq!(build(world.memory()), (1, 400));
    let after = world.recall(&mei(), &asked(&text(9)));
    assert_eq!((how(&after), after.hits[0].record.content.clone()), ("graph", text(9)));
}
