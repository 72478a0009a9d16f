//! Which terms do emoji and symbols give? Knows how emoji are put together, not what they mean.

use super::sink::Sink;

/// Says whether `c` is an emoji or a symbol that means something by itself. Lines and blocks that
/// draw tables are not.
pub(super) fn is_symbol(c: char) -> bool {
    matches!(
        c,
        '\u{a7}' | '\u{a9}' | '\u{ae}' | '\u{b6}'
            | '\u{2100}'..='\u{24ff}'
            | '\u{25a0}'..='\u{2bff}'
            | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
            | '\u{1f000}'..='\u{1faff}'
    )
}

/// Adds each symbol of `run`. Symbols held together by a joiner, and the two letters of a flag, give
/// their whole form too. Skin tones are left out, so that 👍🏽 and 👍 meet.
pub(super) fn analyse(run: &str, sink: &mut Sink) {
    let mut group: Vec<char> = Vec::new();
    let mut joined = false;
    for c in run.chars() {
        match c {
            '\u{1f3fb}'..='\u{1f3ff}' => {}
            '\u{200d}' => joined = true,
            _ if !is_symbol(c) => {}
            _ => {
                let completes_flag = is_flag_letter(c) && matches!(group[..], [only] if is_flag_letter(only));
                if !joined && !completes_flag {
                    add(&mut group, sink);
                }
                group.push(c);
                joined = false;
            }
        }
    }
    add(&mut group, sink);
}

fn is_flag_letter(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}')
}

fn add(group: &mut Vec<char>, sink: &mut Sink) {
    if group.len() > 1 {
        sink.push(group.iter().collect());
    }
    // The letters of a flag alone would meet every flag that has one of them.
    if !group.first().is_some_and(|c| is_flag_letter(*c)) || group.len() == 1 {
        group.iter().for_each(|c| sink.push(c.to_string()));
    }
    group.clear();
}
