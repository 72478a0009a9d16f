//! What is found, what is let pass, and what a text looks like after redaction.

mod generated;

use super::{Finding, find, find_all, redact};

/// Letters and digits without a pattern; a slice of them stands for any key.
const RANDOM: &str = "q7Zp2XvL9tRk4WmB8sYc3HfN6dJg5Ta1UeKoQiPxMzVbCwDyFrGhSjAnEl0u7R2k9Xq4Zt8Lw3Bv6Ny1Gs5Hd0Pm2Jf7Tc4Ka9Qe3Zx8Vb5";

fn random(length: usize) -> &'static str {
    &RANDOM[..length]
}

/// One credential of each kind that people hand to an agent most. Put together here, so that no
/// scanner takes this file for a leak.
fn credentials() -> Vec<(&'static str, String)> {
    let header = "eyJhbGciOiJIUzI1NiJ9";
    vec![
        ("aws-access-token", format!("AKIA{}", "Q3EGZ7NVXK2RB5TM")),
        ("github-pat", format!("ghp_{}", random(36))),
        ("github-fine-grained-pat", format!("github_pat_{}", random(82))),
        ("gitlab-pat", format!("glpat-{}", random(20))),
        ("slack-bot-token", format!("xoxb-{}-{}-{}", "2847561930", "7382915640", random(24))),
        ("slack-webhook-url", format!("https://hooks.slack.com/services/{}", random(44))),
        ("stripe-access-token", format!("sk_test_{}", random(24))),
        ("stripe-access-token", format!("rk_live_{}", random(24))),
        ("openai-api-key", format!("sk-{}T3BlbkFJ{}", random(20), &RANDOM[30..50])),
        ("openai-api-key", format!("sk-proj-{}T3BlbkFJ{}", random(74), &RANDOM[10..84])),
        ("anthropic-api-key", format!("sk-ant-api03-{}AA", random(93))),
        ("gcp-api-key", format!("AIza{}", random(35))),
        ("huggingface-access-token", format!("hf_{}", "qZpXvLtRkWmBsYcHfNdJgTaUeKoQiPxMzV")),
        ("npm-access-token", format!("npm_{}", "q7zp2xvl9trk4wmb8syc3hfn6djg5ta1uek0")),
        ("jwt", format!("{header}.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{}", random(43))),
        (
            "private-key",
            format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", random(100)),
        ),
        ("private-key-cut-short", format!("-----BEGIN PRIVATE KEY-----\n{}", random(60))),
        ("connection-string-password", format!("postgres://app:{}@db.internal:5432/orders", random(12))),
        ("connection-string-password", "postgres://user:pw@host".to_owned()),
        ("connection-string-password", format!("redis://:{}@10.0.0.7:6379/0", random(9))),
        ("connection-string-password", format!("mongodb+srv://me:{}@c0.mongodb.net/x", random(16))),
        ("generic-api-key", format!("api_key = \"{}\"", random(32))),
        ("generic-api-key", format!("AUTH_TOKEN={}", random(40))),
        ("curl-auth-header", format!("curl -H \"Authorization: Bearer {}\" http://x", random(30))),
        ("stated-password", "my password is hunter2".to_owned()),
        ("stated-password", "DB_PASSWORD=Tr0ub4dor&3".to_owned()),
        ("stated-password", "{\"password\": \"correct7horse\"}".to_owned()),
    ]
}

/// The ways in which a credential lies in a text; `@` is its place.
const AROUND: [&str; 10] = [
    "@",
    "The one for staging is @ and it works.",
    "Remember: @.",
    "It is (@), don't tell.",
    "`@`",
    "| staging | @ |",
    "凭证为 @，请勿外传。",
    "凭证为@是的",
    "キーは@です",
    "키는@입니다",
];

#[test]
fn each_kind_of_credential_is_found_in_english_chinese_japanese_and_korean() {
    for (rule, credential) in credentials() {
        for around in AROUND {
            let text = around.replace('@', &credential);
            let found = find_all(&text);
            assert!(found.iter().any(|finding| finding.rule == rule), "{rule} in {text:?}: {found:?}");
            assert!(find(&text).is_some());
        }
    }
}

#[test]
fn a_credential_in_full_width_letters_or_split_by_what_has_no_width_is_found() {
    for (rule, credential) in credentials() {
        let wide: String = credential.chars().map(full_width).collect();
        for disguised in [
            wide,
            credential.chars().flat_map(|letter| [letter, '\u{200B}']).collect(),
            credential.chars().flat_map(|letter| ['\u{2060}', letter]).collect(),
            credential.chars().flat_map(|letter| [letter, '\u{FE0F}']).collect(),
            credential.replace('-', "\u{AD}-\u{AD}") + "\u{FEFF}",
        ] {
            let text = format!("凭证为{disguised}。");
            assert!(find(&text).is_some(), "{rule} in {text:?}");
        }
    }
}

#[test]
fn a_credential_is_free_of_the_letter_that_stands_beside_it() {
    let key = format!("sk_live_{}", random(24));
    for text in [format!("ＫＥＹ{key}"), format!("x\u{200B}{key}\u{200B}x"), format!("№{key}号")] {
        assert_eq!(find(&text).map(|finding| finding.rule), Some("stripe-access-token"), "{text:?}");
    }
}

fn full_width(letter: char) -> char {
    match letter {
        '!'..='~' => char::from_u32(u32::from(letter) + 0xFEE0).unwrap(),
        ' ' => '\u{3000}',
        _ => letter,
    }
}

#[test]
fn a_password_told_in_chinese_japanese_or_korean_is_found_and_no_more_than_it() {
    for text in [
        "密码是hunter2x",
        "wifi密码：Tr0ub4dor",
        "数据库的密码现在是 Tr0ub4dor，别忘了",
        "登录口令为hunter2x。",
        "密碼是 hunter2x",
        "パスワードはhunter2xです",
        "パスワード: hunter2x",
        "비밀번호는 hunter2x 입니다",
    ] {
        let found = find(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(found.rule, "stated-password", "{text}");
        assert!(["hunter2x", "Tr0ub4dor"].contains(&&text[found.start..found.end]), "{text} {found}");
    }
    for text in
        ["密码是我们讨论的主题", "密码应当每年更换 2 次", "忘记密码时请联系 admin2", "パスワードは長くする"]
    {
        assert_eq!(find(text), None, "{text}");
    }
}

#[test]
fn what_is_no_credential_passes() {
    let image = format!("data:image/png;base64,{}", RANDOM.repeat(40));
    for text in [
        "",
        "The commit is 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b, on main.",
        "sha256 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
        "checksum = \"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae\"",
        "\"integrity\": \"sha512-Tr0Ub4d0rq7Zp2XvL9tRk4WmB8sYc3HfN6dJg5Ta1UeKoQiPxMzVbCwDyFrGhSjAnEl0u7R2k9Xq4Zt8Lw==\"",
        "order 550e8400-e29b-41d4-a716-446655440000 was shipped",
        &image,
        "AWS documents AKIAIOSFODNN7EXAMPLE as its example",
        "let token = lexer.next_token();",
        "password = os.environ[\"DB_PASSWORD_2\"]",
        "password: ${DB_PASSWORD_2}",
        "password = hash_password(sha256(input))",
        "api_key = \"<your key here>\"",
        "password: ********",
        "My password is 12 characters long and I changed it on 2024-01-05.",
        "The password is stored with bcrypt.",
        "postgres://user:password@localhost:5432/app",
        "postgres://user:${PASSWORD}@localhost:5432/app",
        "see http://localhost:8080/@me and mailto:me@example.com at 10:30@home",
        "the monkey and the keyboard have the key to accessibility",
        "密码学的关键是密钥管理，口令应当定期更换。",
        "パスワードは定期的に変更してください。",
        "I prefer tea. They said the API is fast, and the author agreed.",
    ] {
        assert_eq!(find(text), None, "{text:?}");
    }
}

#[test]
fn a_text_cannot_excuse_itself() {
    assert!(find(&format!("ghp_{} // gitleaks:allow", random(36))).is_some());
}

#[test]
fn a_finding_points_at_the_credential_and_shows_none_of_it() {
    let key = format!("ghp_{}", random(36));
    let text = format!("钥匙：{key}。");
    let finding = find(&text).unwrap();
    assert_eq!(&text[finding.start..finding.end], key);
    for shown in [format!("{finding:?}"), finding.to_string()] {
        assert!(shown.contains("github-pat") && !shown.contains(random(4)), "{shown}");
    }
}

#[test]
fn redaction_takes_the_credentials_and_nothing_else() {
    let (pat, key) = (format!("ghp_{}", random(36)), random(30));
    for (text, redacted) in [
        (format!("a {pat} b {pat}"), "a [secret:github-pat] b [secret:github-pat]"),
        (format!("凭证为{pat}是的"), "凭证为[secret:github-pat]是的"),
        (format!("api_key: '{key}', ok"), "api_key: '[secret:generic-api-key]', ok"),
        (format!("token={pat}"), "token=[secret:github-pat]"),
        ("postgres://app:s3cr@db/x".to_owned(), "postgres://app:[secret:connection-string-password]@db/x"),
        (format!("钥{}！", pat.chars().map(full_width).collect::<String>()), "钥[secret:github-pat]！"),
    ] {
        assert_eq!(redact(&text).as_deref(), Some(redacted), "{text:?}");
        assert_eq!(redact(redacted), None, "{redacted:?}");
    }
    assert_eq!(redact("nothing here"), None);
}

#[test]
fn findings_come_by_position_and_never_inside_a_character() {
    for (_, credential) in credentials() {
        let text = AROUND.map(|around| around.replace('@', &credential)).join("；");
        let found = find_all(&text);
        assert!(found.is_sorted_by_key(|Finding { start, end, rule }| (start, end, rule)));
        assert!(
            found
                .iter()
                .all(|finding| text.get(finding.start..finding.end).is_some_and(|secret| !secret.is_empty()))
        );
        assert_eq!(find_all(&redact(&text).unwrap()), [], "{text:?}");
    }
}
