# The commands of a working day. `just` alone lists them; `.ci/run` is what a change has to pass.

set shell := ["bash", "-euo", "pipefail", "-c"]
set positional-arguments

[private]
default:
    @just --list --unsorted

# Formatting, lints and tests: what to run before a commit
check: fmt-check clippy test

# Formats the code
fmt:
    cargo fmt

# Says what is not formatted
fmt-check:
    cargo fmt --check

# Lints, with every warning an error
clippy:
    cargo clippy --all-targets --locked -- -D warnings

# Tests; arguments go to the test runner: `just test secrets`
test *args:
    cargo test --locked -- "$@"

# Documentation, with every warning an error
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --locked

# Kills a writing process so many times, and looks each time for what it had acknowledged: `just kills 3000`
kills count="300":
    RECORDARI_KILLS="$1" cargo test --locked --test promises every_acknowledged_write -- --nocapture

# Damages a store in so many ways, each a copy of its own, and asks everything of it: `just damage 20000`
damage count="2000":
    RECORDARI_DAMAGES="$1" cargo test --locked --test promises damage:: -- --nocapture

# Kills a process, and makes its disk fail, at every so manieth system call that changes a file, from one on: `just system-calls 2 1`
system-calls every="20" from="1":
    RECORDARI_SYSTEM_CALLS="$1" RECORDARI_SYSTEM_CALLS_FROM="$2" cargo test --locked --test promises system_calls -- --nocapture

# Plants so many canaries in every form, forgets them, and looks for them; and for what a clean-up could leave: `just probe 2000`
probe canaries="200":
    RECORDARI_CANARIES="$1" cargo test --locked --test promises -- canaries probes:: --nocapture

# So many random histories against a model, with crashes, backups and restores: `just model 2000`
model cases="200":
    RECORDARI_MODEL_CASES="$1" cargo test --locked --test promises any_history -- --nocapture

# Asks a store that forgot and one that never knew so many questions: `just twin 100000`
twin count="10000":
    RECORDARI_TWIN="$1" cargo test --locked --test promises no_question -- --nocapture

# Loses power so many times in a recorded workday, each time with another state of the disk: `just power-loss 10000`
power-loss count="1000":
    RECORDARI_POWER_LOSSES="$1" cargo test --locked --test promises power_loss:: -- --nocapture

# Two processes do everything at once for so many seconds, and one is killed in the middle: `just soak 600`
soak seconds="60":
    RECORDARI_SOAK="$1" cargo test --locked --test promises soak:: -- --nocapture

# Tries the promises on encrypted stores
encrypted:
    .ci/encrypted --features sqlcipher

# Gives so many odd inputs to everything that reads from outside: `just fuzz 2000000`
fuzz inputs="200000":
    RECORDARI_FUZZ="$1" cargo test --locked --test fuzz -- --nocapture

# Benchmarks; arguments go to criterion: `just bench recall`
bench *args:
    cargo bench --locked -- "$@"

# Licences, bans and sources of the dependencies
deny:
    cargo deny --all-features --locked check licenses bans sources

# Known vulnerabilities of the dependencies; fetches the database
advisories:
    cargo deny --all-features --locked check advisories

# Runs the command, built for release: `just demo recall "what do I drink?"`
demo *args:
    cargo run --release --locked -- "$@"

# All that a change has to pass, as CI runs it
ci:
    .ci/run
