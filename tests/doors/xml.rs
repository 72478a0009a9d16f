//! Reads as much of XML as it takes to say that a text is well-formed, and what its titles say.

/// The texts of all elements `title`, entities resolved. Fails the test where the text is not well-formed.
pub fn titles(text: &str) -> Vec<String> {
    let (mut open, mut titles, mut roots) = (Vec::new(), Vec::new(), 0);
    let mut left = text;
    while let Some((before, after)) = left.split_once('<') {
        let said = resolved(before);
        assert!(!open.is_empty() || said.trim().is_empty(), "text outside of the root: {said}");
        let (tag, after) = after.split_once('>').unwrap_or_else(|| panic!("no end of a tag: {after}"));
        left = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "elements close as they open");
            if name == "title" {
                titles.push(said);
            }
            continue;
        }
        let empty = tag.ends_with('/');
        let tag = tag.trim_end_matches('/');
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{tag}");
        no_wrong_attribute(attributes);
        roots += usize::from(open.is_empty());
        if !empty {
            open.push(name);
        }
    }
    assert!(open.is_empty() && roots == 1 && left.trim().is_empty(), "{open:?} {roots} {left}");
    titles
}

fn no_wrong_attribute(attributes: &str) {
    let mut left = attributes.trim();
    let mut names = Vec::new();
    while !left.is_empty() {
        let (name, after) = left.split_once("=\"").unwrap_or_else(|| panic!("no attribute: {left}"));
        let (value, after) = after.split_once('"').unwrap_or_else(|| panic!("no end of a value: {after}"));
        resolved(value);
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{name}");
        assert!(!names.contains(&name), "{name} twice in {attributes}");
        names.push(name);
        left = after.trim_start();
    }
}

fn resolved(text: &str) -> String {
    assert!(text.chars().all(|c| !c.is_control() || c == '\n'), "{text:?}");
    let known = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'")];
    let bare = known.iter().fold(text.replace("&amp;", ""), |text, (entity, _)| text.replace(entity, ""));
    assert!(!bare.contains(['&', '<', '>']), "what must be escaped is not: {text}");
    known.iter().fold(text.to_owned(), |text, (entity, c)| text.replace(entity, c)).replace("&amp;", "&")
}
