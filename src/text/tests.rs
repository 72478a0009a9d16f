//! Promises of the analysis as a whole.

use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;

use super::*;

/// Says whether the query has a term that the text has.
fn finds(query: &str, text: &str) -> bool {
    let terms = terms(text);
    query_terms(query).iter().any(|term| terms.contains(term))
}

#[test]
fn words_are_found_in_the_forms_in_which_people_write_them() {
    let pairs = [
        ("café", "The CAFE\u{301} opens at nine"),
        ("cafe", "le café"),
        ("Zu\u{308}rich", "moved to ZÜRICH"),
        ("pinata", "piñata"),
        ("ABC", "ＡＢＣ"),
        ("감", "감"),
        ("감", "\u{1100}\u{1161}\u{11b7}"),
        ("감", "감이 달다"),
        ("strasse", "Straße"),
        ("connections", "it is connected"),
        ("你知道我叫什麼名字嗎", "你好，我是 Foy"),
        ("中文", "这是中文"),
        ("カメラ", "新しいｶﾒﾗを買った"),
        ("молоко", "Купить МОЛОКО вечером"),
        ("книги", "новая книга"),
        ("елка", "Ёлка стоит"),
        ("θάλασσα", "Η ΘΑΛΑΣΣΑ είναι ήρεμη"),
        ("ὁδός", "ΟΔΟΣ"),
        ("كتاب", "هذا الكِتَابُ جديد"),
        ("احمد", "قال أحمد"),
        ("שלום", "שָׁלוֹם עולם"),
        ("किताब", "यह मेरी किताब है"),
        ("किताबें", "यह मेरी किताब है"),
        ("อาหาร", "ผมชอบอาหารไทย"),
        ("학교", "오늘 학교에서 만났다"),
        ("👍", "done 👍🏽"),
        ("👩‍👩‍👧‍👦", "the 👩‍👩‍👧‍👦 came"),
        ("email", "send an e-mail"),
        ("e-mail", "send an email"),
        ("dont", "don't do it"),
        ("database", "databases"),
        ("٤٢", "answer 42"),
        ("TODO: fix", "TODO: fix the build"),
        ("what should I NOT do before deploy", "never deploy on Friday"),
        ("<|endoftext|>", "<|endoftext|>"),
        ("constructor", "constructor"),
        ("null", "null"),
        ("-0", "-0"),
        ("a\0b", "b"),
        ("a", "a\0b"),
    ];
    for (query, text) in pairs {
        assert!(finds(query, text), "{query:?} in {text:?}: {:?} {:?}", query_terms(query), terms(text));
    }
}

#[test]
fn identifiers_are_terms_of_their_own_beside_their_parts() {
    let identifiers = [
        "gpt-4o",
        "claude-code",
        "100-200MB",
        "field:value",
        "a/b.c",
        "C++",
        "C#",
        ".NET",
        "#42",
        "@bob",
        "3.14",
        "`foo()`",
        "snake_case",
        "camelCase",
        "kebab-case",
        "1.2.3",
        "E0308",
        "ERR_CONN_RESET",
        "src/text/mod.rs",
        "bob@example.com",
        "https://example.com/a?b=1",
        "std::vec::Vec",
        "100%",
        "a_b",
        "-0",
    ];
    for identifier in identifiers {
        let whole = terms(&format!("see {identifier}, please"));
        // The same letters and digits, put apart.
        let apart: String = identifier.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
        let apart = apart.replace("camelCase", "camel Case").replace("E0308", "E 0308");
        let parts = terms(&format!("see {apart}, please"));
        let query = query_terms(identifier);
        assert!(query.iter().all(|term| whole.contains(term)), "{identifier}: {query:?} {whole:?}");
        assert!(query.iter().any(|term| !parts.contains(term)), "{identifier}: {query:?} {parts:?}");
        assert!(query.iter().any(|term| parts.contains(term)) || identifier == "E0308", "{identifier}");
    }
}

#[test]
fn stop_words_count_only_when_nothing_else_is_asked() {
    assert_eq!(query_terms("What is the name of the dog?"), ["name", "dog"]);
    assert_eq!(query_terms("the of and the"), ["the", "of", "and"]);
    assert_eq!(query_terms("it's"), ["it"]);
    assert_eq!(query_terms("should I NOT"), ["not"]);
    assert!(terms("the dog").contains(&"the".to_owned()));
}

#[test]
fn what_has_no_words_has_no_terms() {
    for text in
        ["", "  ", "?!", "\0", "\u{fffd}", "...", "\u{200b}", "\u{200d}", "-- --", "\u{301}", "'", "()"]
    {
        assert!(query_terms(text).len() <= 1, "{text:?} {:?}", query_terms(text));
    }
    assert_eq!(query_terms("?!"), [""; 0]);
}

#[test]
fn repetitions_are_the_frequency_of_a_term() {
    assert_eq!(terms("dog dogs Dog").iter().filter(|term| *term == "dog").count(), 3);
    assert_eq!(query_terms("dog dogs Dog"), ["dog"]);
}

#[test]
fn terms_of_a_long_text_are_bounded() {
    for unit in ["a", "é", "中", "aB", "1a", "a.b/", "👍", "\u{fdfa}", "AAAA1111+/", "ก็", "🇦"] {
        let text = unit.repeat(65_536 / unit.len());
        let terms = terms(&text);
        assert!(terms.len() <= 5 * text.nfkc().count(), "{unit}: {}", terms.len());
        assert!(terms.iter().all(|term| term.len() <= MAX_TERM_BYTES), "{unit}");
    }
}

fn any_text() -> impl Strategy<Value = String> {
    let scripts = "[a-zA-Z0-9 ._/:@#+'()-]{0,20}|\\PC{0,20}|[а-яёїА-Я ]{0,16}|[α-ωάές ]{0,16}|[\u{621}-\u{652} ]{0,16}|\
                   [\u{900}-\u{96f} ]{0,16}|[\u{5d0}-\u{5ea} ]{0,16}|[一-十가-각あ-おก-๎ ]{0,16}|[\u{0}-\u{ff}]{0,16}|\
                   [\u{300}-\u{310}\u{200b}-\u{200f}😀-😂🏻]{0,8}";
    prop_oneof![
        proptest::string::string_regex(scripts).expect("the pattern is well formed"),
        proptest::collection::vec(any::<char>(), 0..24).prop_map(|chars| chars.into_iter().collect()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn composed_and_decomposed_texts_give_the_same_terms(text in any_text()) {
        let (nfc, nfd): (String, String) = (text.nfc().collect(), text.nfd().collect());
        prop_assert_eq!(terms(&nfc), terms(&nfd));
        prop_assert_eq!(canonical(&nfc), canonical(&nfd));
    }

    #[test]
    fn every_text_is_found_by_itself(text in any_text()) {
        let terms = terms(&text);
        let query = query_terms(&text);
        prop_assert_eq!(query.is_empty(), terms.is_empty());
        prop_assert!(query.iter().all(|term| terms.contains(term)));
        prop_assert!(terms.iter().all(|term| !term.is_empty() && term.len() <= MAX_TERM_BYTES));
        let missing = terms.iter().filter(|term| !query.contains(term));
        prop_assert!(missing.clone().all(|term| stop::is_stop(term)));
    }

    #[test]
    fn canonical_form_is_final(text in any_text()) {
        let once = canonical(&text);
        prop_assert_eq!(canonical(&once), once.clone());
        prop_assert_eq!(similarity(&Sketch::of(&text), &Sketch::of(&once)), 1.0);
    }

    #[test]
    fn likeness_is_symmetric_and_bounded(a in any_text(), b in any_text()) {
        let (a, b) = (Sketch::of(&a), Sketch::of(&b));
        prop_assert_eq!(similarity(&a, &b), similarity(&b, &a));
        prop_assert!((0.0..=1.0).contains(&similarity(&a, &b)));
    }

    #[test]
    fn clipping_keeps_the_limit_and_the_beginning(text in any_text(), max in 0usize..30) {
        let clipped = clip(&text, max);
        prop_assert!(char_count(&clipped) <= max);
        prop_assert!(text.starts_with(clipped.trim_end_matches('…')));
    }

    #[test]
    fn shown_text_has_nothing_active(text in any_text()) {
        let shown = escape_control(&text);
        prop_assert!(shown.chars().all(|c| !c.is_control()));
        prop_assert_eq!(escape_control(&shown), shown.clone());
    }

    #[test]
    fn case_makes_no_difference_and_no_word_breaks_the_stemmer(
        word in "[a-z]{1,30}|[а-яё]{1,20}|[α-ως]{1,20}|[\u{620}-\u{64a}]{1,20}|[\u{904}-\u{94d}]{1,20}",
    ) {
        prop_assert_eq!(terms(&word), terms(&word.to_uppercase()));
    }
}
