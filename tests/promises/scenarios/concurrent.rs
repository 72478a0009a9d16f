//! CON: writes go on while an index is rebuilt, and nothing is lost. (Racing corrections, two processes and
//! failing writers, B135, B139 and B143, stand in `races`.)

use super::mei;
use crate::world::World;

#[test]
fn writes_and_recalls_go_on_while_the_index_is_rebuilt() {
    // B137
    let world = World::new();
    let batch: Vec<_> =
        (0..3000).map(|number| world.said(None, &format!("row {number} of the ledger"), "book")).collect();
    world.memory().remember_all(&mei(), &batch).unwrap();
    std::thread::scope(|scope| {
        let rebuild = scope.spawn(|| world.memory().rebuild(&mut |_, _| {}).unwrap());
        for number in 0..20 {
            let text = format!("written meanwhile {number}");
            world.say(&mei(), None, &text, "chat");
            let query = recordari::Query { limit: Some(1), ..recordari::Query::new(text.as_str()) };
            assert_eq!(crate::world::contents(&world.recall(&mei(), &query)), [text]);
        }
        assert!(rebuild.join().unwrap());
    });
    world.drain();
    world.assert_sound();
}
