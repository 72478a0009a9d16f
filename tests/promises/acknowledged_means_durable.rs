//! A write that returned survives `kill -9`; a write that failed left nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use recordari::Memory;

use crate::child::{Child, writer};
use crate::world::World;

/// How many times the writing process is killed, unless `RECORDARI_KILLS` says another number.
const ROUNDS: u32 = 24;
/// After so many rounds a new store is begun: looking everything through takes longer the more there is.
const ROUNDS_OF_A_STORE: u32 = 40;

/// What the child said: what was acknowledged, and what was under way when it died.
#[derive(Default)]
struct Said {
    kept: BTreeMap<String, String>,
    batches: Vec<String>,
    under_way: Option<Vec<String>>,
}

impl Said {
    fn hear(&mut self, line: &str) {
        let words: Vec<String> = line.split('\t').map(str::to_owned).collect();
        if words[0] != "done" {
            self.under_way = Some(words);
            return;
        }
        let done = self.under_way.take().expect("something was under way");
        match done[0].as_str() {
            "remember" => drop(self.kept.insert(words[1].clone(), done[1].clone())),
            "correct" => drop(self.kept.insert(done[1].clone(), done[2].clone())),
            "forget" => drop(self.kept.remove(&done[1])),
            "batch" => self.batches.push(done[1].clone()),
            other => panic!("unknown {other}"),
        }
    }

    /// Compares with what is in the store; whatever was under way has happened as a whole or not at all.
    fn check(&self, store: &BTreeMap<String, String>) {
        let under_way: Vec<&str> = self.under_way.iter().flatten().map(String::as_str).collect();
        for (memory, content) in &self.kept {
            let now = store.get(memory);
            let excused = match under_way[..] {
                ["correct", of, to] => of == memory && now.is_some_and(|now| now == to),
                ["forget", of] => of == memory && now.is_none(),
                _ => false,
            };
            assert!(now == Some(content) || excused, "{content:?} was acknowledged, there is {now:?}");
        }
        let in_batch = |prefix: &str| store.values().filter(|content| content.starts_with(prefix)).count();
        for batch in &self.batches {
            assert_eq!(in_batch(batch), 5, "{batch}");
        }
        if let ["batch", prefix] = under_way[..] {
            assert!([0, 5].contains(&in_batch(prefix)), "{prefix} is there by half");
        }
    }
}

fn contents_of(memory: &Memory) -> BTreeMap<String, String> {
    let page = recordari::PageRequest { limit: 1000, cursor: None };
    let mut all = BTreeMap::new();
    let mut page = Some(page);
    while let Some(request) = page.take() {
        let filter = recordari::Filter::All(Vec::new());
        let found = memory.list(&writer(), &filter, &recordari::StateFilter::Current, &request).unwrap();
        all.extend(found.records.into_iter().map(|record| (record.memory_id.to_string(), record.content)));
        page = found.cursor.map(|cursor| recordari::PageRequest { limit: 1000, cursor: Some(cursor) });
    }
    all
}

#[test]
fn every_acknowledged_write_is_there_after_kill_9_and_none_by_half() {
    let rounds = std::env::var("RECORDARI_KILLS").ok().map_or(ROUNDS, |kills| kills.parse().unwrap());
    let mut world = World::new();
    world.close();
    let mut random = u64::from(std::process::id()) | 1;
    println!("delays come from {random}");
    let mut said = Said::default();
    let (mut acknowledged, mut longest) = (0, Duration::ZERO);
    for round in 0..rounds {
        if round > 0 && round % ROUNDS_OF_A_STORE == 0 {
            world = World::new();
            world.close();
            said = Said::default();
        }
        let mut child = Child::start(world.path());
        child.send(&["write_until_killed", &round.to_string()]);
        said.hear(&child.next().expect("it begins"));
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        std::thread::sleep(Duration::from_micros(random % 120_000));
        child.kill();
        while let Some(line) = child.next() {
            acknowledged += usize::from(line.starts_with("done"));
            said.hear(&line);
        }
        drop(child);
        let started = std::time::Instant::now();
        world.reopen();
        longest = longest.max(started.elapsed());
        let open = world.memory().deletions(&writer(), true, 10).unwrap();
        let left: Vec<_> = open.iter().map(|receipt| &receipt.left).collect();
        assert!(left.is_empty(), "round {round}: opening ends the deletions that were under way: {left:?}");
        let store = contents_of(world.memory());
        said.check(&store);
        world.assert_sound();
        // From here on what was under way either is there or is not.
        said.kept = store.iter().filter(|(_, text)| !text.contains("batch")).map(clone).collect();
        said.under_way = None;
        world.close();
    }
    assert!(acknowledged > rounds as usize, "only {acknowledged} writes were acknowledged");
    println!(
        "{rounds} kills, {acknowledged} writes acknowledged, none lost, none by half, opened in {longest:?} at most"
    );
}

/// How many times fewer rounds there are of three processes than of one.
const FEWER: u32 = 6;

#[test]
fn every_acknowledged_write_of_three_processes_is_there_when_all_are_killed() {
    // B145
    let kills = std::env::var("RECORDARI_KILLS").ok().map_or(ROUNDS, |kills| kills.parse().unwrap());
    let mut random = u64::from(std::process::id()) | 1;
    println!("delays come from {random}");
    let mut acknowledged = 0;
    let rounds = kills.div_ceil(FEWER);
    let mut world = World::new();
    world.close();
    for round in 0..rounds {
        if round > 0 && round % (ROUNDS_OF_A_STORE / 3) == 0 {
            world = World::new();
            world.close();
        }
        let mut children: Vec<Child> = (0..3).map(|_| Child::start(world.path())).collect();
        for (number, child) in children.iter_mut().enumerate() {
            child.send(&["write_until_killed", &format!("{round}.{number}")]);
        }
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        std::thread::sleep(Duration::from_micros(100_000 + random % 300_000));
        children.iter_mut().for_each(Child::kill);
        let mut all: Vec<Said> = Vec::new();
        for child in &mut children {
            let mut said = Said::default();
            while let Some(line) = child.next() {
                acknowledged += usize::from(line.starts_with("done"));
                said.hear(&line);
            }
            all.push(said);
        }
        drop(children);
        world.reopen();
        let store = contents_of(world.memory());
        all.iter().for_each(|said| said.check(&store));
        world.assert_sound();
        world.close();
    }
    assert!(acknowledged > rounds as usize, "only {acknowledged} writes were acknowledged");
    println!(
        "{rounds} rounds of three processes, {acknowledged} writes acknowledged, none lost, none by half"
    );
}

fn clone((memory, content): (&String, &String)) -> (String, String) {
    (memory.clone(), content.clone())
}

#[test]
fn a_write_that_failed_left_nothing() {
    let world = World::new();
    let mei = writer();
    let before = world.memory().stats(&mei).unwrap();
    let mut refused = world.said(None, "a statement with impossible metadata", "chat");
    refused.metadata.insert("n".to_owned(), recordari::MetaValue::Number(f64::NAN));
    let whole = world.said(None, "a sound statement", "chat");
    assert!(world.memory().remember(&mei, &refused).is_err());
    let outcomes = world.memory().remember_all(&mei, &[refused, whole]).unwrap();
    assert!(outcomes[0].is_err() && outcomes[1].is_ok());
    assert_eq!(world.listed(&mei).len(), 1);
    assert_ne!(world.memory().stats(&mei).unwrap(), before);
    world.assert_sound();
}
