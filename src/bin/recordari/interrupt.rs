//! Has the person asked to stop? Only commands that work in batches ask; all others end at once, as
//! programs do. The store is sound either way.

use std::io::Write;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code of a command that was interrupted.
pub const INTERRUPTED: u8 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on the first Ctrl-C only asks to stop; the second one ends the program.
pub fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let handler = || {
            if ASKED.swap(true, Ordering::SeqCst) {
                std::process::exit(i32::from(INTERRUPTED));
            }
            let _ = writeln!(
                std::io::stderr(),
                "recordari: stopping at the next batch; Ctrl-C again ends at once"
            );
        };
        // Without a handler Ctrl-C ends the program at once, which the store survives too.
        let _ = ctrlc::set_handler(handler);
    });
}

/// Whether somebody asked to stop.
pub fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
