//! Secrets of every row, planted into texts.

use std::collections::BTreeMap;

use proptest::{
    prelude::*,
    strategy::ValueTree,
    string::string_regex,
    test_runner::{Config, TestRng, TestRunner},
};

use memory_contract::policy::SensitiveKind;

use crate::{
    Kinds, find,
    providers::PROVIDERS,
    redact,
    table::{Row, Start},
};

/// Texts with a place for a secret.
const TEXTS: &[&str] = &[
    "{}",
    "My key is {} and it works.",
    "{} is the one from staging",
    "Please use this one: {}.",
    "Der Schlüssel lautet {}, bitte löschen!",
    "La clé («{}») ne marche plus",
    "我的密钥是{}，请保存。",
    "キーは「{}」です",
    "Вот ключ: {}!",
    "المفتاح {}؟",
    "🔑{}🔑",
    r#"{"service": {"api": "{}"}, "port": 8080}"#,
    r#"{"body":"{\"value\":\"{}\"}"}"#,
    r"first line\n{}\nlast line",
    "export SERVICE={}\nmake run",
    "docker run -e SERVICE='{}' image:1.2",
    "curl -H \"X-Service: {}\" https://api.example.com/v1",
    "const client = new Client(\"{}\");",
    "client = Client(`{}`, retries=3)",
    "```sh\n{}\n```",
    "Try `{}`; then restart",
    "| service | {} |",
    "**{}**",
    "<value>{}</value>",
    "- {}\n- other",
    "https://api.example.com/?v=1&k={}",
    "k=%20{}",
    "[{}](https://example.com)",
];

/// How many secrets of a row are planted into each text.
const ROUNDS: usize = 1;

/// The rest of a private key as programs write it. The row also takes what people make of it.
const PRIVATE_KEY: &str = concat!(
    r"(?:RSA |EC |OPENSSH |ENCRYPTED )?PRIVATE KEY-----(?:\n|\\n)",
    r"(?:[A-Za-z0-9+/]{64}(?:\n|\\n)){2,26}[A-Za-z0-9+/]{24}==(?:\n|\\n)-----END PRIVATE KEY-----",
);

fn runner() -> TestRunner {
    let config = Config::default();
    let rng = TestRng::deterministic_rng(config.rng_algorithm);
    TestRunner::new_with_rng(config, rng)
}

/// Secrets of a row, each with one of its anchors.
fn secrets(row: &'static Row) -> BoxedStrategy<String> {
    let pattern = if row.name == "private-key" {
        PRIVATE_KEY
    } else {
        row.pattern
    };
    let pattern = string_regex(&format!("(?-u:{pattern})")).unwrap();
    match row.start {
        Start::Prefix => (prop::sample::select(row.anchors), pattern)
            .prop_map(|(anchor, rest)| format!("{anchor}{rest}"))
            .boxed(),
        _ => pattern.boxed(),
    }
}

#[test]
fn secrets_of_every_row_are_found_in_every_text() {
    let mut runner = runner();
    let mut missed = BTreeMap::new();
    let mut planted = 0;
    for row in PROVIDERS {
        let secrets = secrets(row);
        for text in TEXTS {
            for _ in 0..ROUNDS {
                let secret = secrets.new_tree(&mut runner).unwrap().current();
                let start = text.find("{}").unwrap();
                let text = text.replacen("{}", &secret, 1);
                let hits = find(&text, Kinds::from([SensitiveKind::Secret]));
                planted += 1;
                let end = start + secret.len();
                if !hits
                    .iter()
                    .any(|hit| hit.range.start <= start && end <= hit.range.end)
                {
                    missed.entry(row.name).or_insert_with(Vec::new).push(text);
                }
            }
        }
    }
    let count: usize = missed.values().map(Vec::len).sum();
    assert!(planted > 3_000, "{planted}");
    for (name, texts) in &missed {
        assert!(
            texts.len() * 100 <= TEXTS.len() * ROUNDS,
            "{name}: {texts:#?}"
        );
    }
    assert!(count * 100 <= planted, "{count} of {planted}: {missed:#?}");
}

/// Pieces whose joints are tested: secrets, and what patterns look for around them.
fn pieces() -> BoxedStrategy<String> {
    let rows = PROVIDERS.iter().map(secrets).collect::<Vec<_>>();
    let words = [
        " ",
        "-",
        "_",
        ".",
        "=",
        ": ",
        "\"",
        "password",
        "token = ",
        "secret_",
        "://u:",
        "@h.co",
        "Bearer ",
        "api key is ",
        "\\n",
        "%20",
        "+49 30 ",
        "4111 1111 1111 1111",
        "1",
        "A",
        "é",
        "DE89370400440532013000",
        "a@b.example",
        "tel. ",
        "密码",
        "-----",
        "eyJ",
        "Hunter2Hunter2",
        "[",
        "]",
        "REDACTED:",
        "\n",
    ];
    prop_oneof![
        2 => prop::sample::select(words.to_vec()).prop_map(str::to_owned),
        1 => prop::strategy::Union::new(rows),
        1 => any::<String>(),
    ]
    .boxed()
}

proptest! {
    #![proptest_config(Config { cases: 2000, ..Config::default() })]

    #[test]
    fn redacting_twice_changes_nothing(text in prop::collection::vec(pieces(), 0..8)) {
        let text = text.concat();
        let kinds = Kinds::from(SensitiveKind::ALL);
        let (once, hits) = redact(&text, kinds);
        let mut last = 0;
        for hit in &hits {
            prop_assert!(last <= hit.range.start && hit.range.start < hit.range.end);
            prop_assert!(text.get(hit.range.clone()).is_some());
            last = hit.range.end;
        }
        let (twice, again) = redact(&once, kinds);
        prop_assert_eq!(&twice, &once, "{:?} {:?}", again, text);
    }
}
