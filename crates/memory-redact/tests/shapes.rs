//! Secrets and cards of random digits and letters, in shapes that are written without the crate's
//! patterns.

use memory_contract::policy::SensitiveKind;
use memory_redact::{Hit, Kinds, find};

/// Shapes of secrets. `%` stands before a class and a count in two digits: A letters and digits, a
/// small letters and digits, H hexadecimal, U capitals and digits, T capitals and 2 to 7, D digits,
/// W base64url, B base64.
#[rustfmt::skip]
const SECRETS: &[&str] = &[
    "sk-%A20T3BlbkFJ%A20", "sk-proj-%W74T3BlbkFJ%W74", "sk-svcacct-%W58T3BlbkFJ%W58",
    "sk-ant-api03-%W93AA", "sk-ant-admin01-%W93AA", "sk-ant-oat01-%W93AA", "sk-%H32",
    "sk-or-v1-%H64", "sk-lf-%H08-%H04-%H04-%H04-%H12", "lsv2_pt_%H32_%H10", "gsk_%A52", "xai-%A80",
    "r8_%A37", "pplx-%A48", "hf_%A34", "nvapi-%W64", "tvly-dev-%A32", "rck_%W43", "AIza%W35",
    "GOCSPX-%W28", "ya29.a0%W99%W64", "AKIA%T16", "ASIA%T16", "%A038Q~%A34", "LTAI%A20",
    "dop_v1_%H64", "HRKU-AA%A58", "fo1_%W43", "FlyV1 fm2_%B99%B99", "nfp_%A36", "sbp_%H40",
    "sb_secret_%W31", "dapi%H32", "dapi%H32-2", "pscale_tkn_%W43", "hvs.%W90", "hvs.%A24",
    "%A14.atlasv1.%A67", "dp.pt.%A43", "dp.st.prd.%A43", "pul-%H40", "ops_eyJ%B99%B99%B99",
    "ghp_%A36", "gho_%A36", "ghs_%A36", "github_pat_%A22_%A59", "glpat-%W20",
    "glpat-%W27.01.%a09", "glpat-%W27.%a09", "glrt-%W20", "ATATT3%W99%W87", "dckr_pat_%W27", "npm_%A36",
    "pypi-AgEIcHlwaS5vcmc%W99%W50", "rubygems_%H48", "oy2%a43", "AKCp%A69", "squ_%H40",
    "sntryu_%H64", "glsa_%A32_%H08", "glc_%B96", "NRAK-%U27", "dt0c01.%U24.%U64", "PMAK-%H24-%H34",
    "lin_api_%A40", "ntn_%D11%A35", "secret_%A43", "figd_%W40", "pat%A14.%H64", "CFPAT-%W43",
    "sk_live_%A24", "rk_live_%A99", "sk_test_%A24", "whsec_%A32", "shpat_%H32", "shpss_%H32",
    "sq0atp-%W22", "EAAA%W60", "access-production-%H08-%H04-%H04-%H04-%H12",
    "xoxb-%D12-%D12-%A24", "xoxp-%D12-%D12-%D12-%H32", "xapp-1-A%U10-%D13-%H64",
    "https://hooks.slack.com/services/T%U08/B%U10/%A24",
    "https://discord.com/api/webhooks/%D18/%W68", "M%A23.G%W05.%W38", "%D10:AA%W33",
    "https://api.telegram.org/bot%D10:AA%W33/getMe", "SK%H32", "SG.%W22.%W43", "key-%H32",
    "%H32-us12", "xkeysib-%H64-%A16", "re_%A08_%A24", "eyJhbGciOiJIUzI1NiJ9.eyJ%W60.%W43",
    // With what stands around them.
    "aws_secret_access_key = %B40", "AWS_SECRET_ACCESS_KEY=\"%B40\"", "AKIA%T16,%B40",
    "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=%B86==;",
    "https://a.blob.core.windows.net/c?sv=2022&sig=%A43%%3D", "postgres://app:%A12@db:5432/app",
    "mongodb+srv://root:p@%A08@cluster0.example.net", "redis://:%A20@cache:6379/0",
    "Authorization: Bearer %A40", "\"authorization\": \"Bearer %W40\"",
    "Authorization: Basic %A22==", "curl -u admin:%A14 https://example.com", "bearer %A32",
    "PASSWORD=%A16", "DB_PASSWORD='%A20'", "\"password\": \"%A16\"", "password: %A10!%D02",
    "{\\\"password\\\": \\\"%A16\\\"}", "spring.datasource.password=%A16", "--password %A16",
    "--token=%A32", "--api-key %A32", "api_key = \"%A32\"", "apiKey: '%a32'", "X-Api-Key: %a40",
    "client_secret=%W40", "clientSecret: \"%A32\"", "HEROKU_API_KEY=%H08-%H04-%H04-%H04-%H12",
    "TWILIO_AUTH_TOKEN=%H32", "cloudflare_api_token = %W40", "config['token'] = '%A24'",
    "<password>%A12x7</password>", "| password | %A14 |", "**Password:** %A12", "`pwd` = `%A16`",
    "My password is %A14", "das Passwort lautet %A14", "Passwort: Sommer%D04!", "mot de passe : %A14",
    "la contraseña es %A14", "пароль: %A14", "密码是%A14", "パスワードは%A14", "비밀번호는 %A14",
    "DATADOG_API_KEY: str = \"%H32\"", "secretKeyBase64: %B44",
];

/// Prefixes and lengths of cards.
const CARDS: &[(&str, usize)] = &[
    ("4", 16),
    ("51", 16),
    ("2221", 16),
    ("34", 15),
    ("37", 15),
    ("6011", 16),
    ("65", 16),
    ("3530", 16),
    ("36", 14),
    ("62", 16),
    ("6759", 16),
    ("4", 13),
    ("4", 19),
    ("62", 19),
];

/// Texts with a place for a secret.
const AROUND: &[&str] = &[
    "{}",
    "Here: {} (from staging).",
    "Hier ist es: {}, bitte löschen.",
    "这是 {} 。",
    "« {} »",
    "{\"note\": \"{}\"}",
    "first\n{}\nlast",
    "```\n{}\n```",
    "> {}\n\nThanks!",
    "export A=1; {}",
];

/// How often each shape is planted into each text.
const ROUNDS: usize = 8;

/// The generator SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as usize % end
    }

    fn of(&mut self, class: u8, count: usize) -> String {
        let characters: &[u8] = match class {
            b'A' => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
            b'a' => b"abcdefghijklmnopqrstuvwxyz0123456789",
            b'H' => b"0123456789abcdef",
            b'U' => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
            b'T' => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
            b'D' => b"1234567890",
            b'W' => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
            b'B' => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
            _ => panic!("no such class"),
        };
        (0..count)
            .map(|_| char::from(characters[self.below(characters.len())]))
            .collect()
    }

    /// A text of a shape, and the ranges of what was made up in it.
    fn shaped(&mut self, shape: &str) -> (String, Vec<std::ops::Range<usize>>) {
        let mut parts = shape.split('%');
        let mut text = parts.next().unwrap_or_default().to_owned();
        let mut ranges = Vec::new();
        while let Some(part) = parts.next() {
            if part.is_empty() {
                text.push('%');
                text.push_str(parts.next().unwrap_or_default());
                continue;
            }
            let start = text.len();
            text.push_str(&self.of(part.as_bytes()[0], part[1..3].parse().expect("two digits")));
            ranges.push(start..text.len());
            text.push_str(&part[3..]);
        }
        (text, ranges)
    }

    fn card(&mut self, prefix: &str, length: usize) -> String {
        let body = format!("{prefix}{}", self.of(b'D', length - 1 - prefix.len()));
        let sum: usize = body
            .bytes()
            .rev()
            .enumerate()
            .map(|(at, digit)| match (at % 2, usize::from(digit - b'0')) {
                (1, digit) => digit,
                (_, digit) => digit * 2 / 10 + digit * 2 % 10,
            })
            .sum();
        format!("{body}{}", (10 - sum % 10) % 10)
    }
}

fn is_covered(hits: &[Hit], range: std::ops::Range<usize>) -> bool {
    hits.iter()
        .any(|hit| hit.range.start <= range.start && range.end <= hit.range.end)
}

#[test]
fn planted_secrets_are_found() {
    let mut random = Random(7);
    let (mut planted, mut missed) = (0, 0);
    for shape in SECRETS {
        let mut texts = Vec::new();
        for around in AROUND {
            for _ in 0..ROUNDS {
                let (secret, ranges) = random.shaped(shape);
                let start = around.find("{}").unwrap();
                let text = around.replacen("{}", &secret, 1);
                planted += 1;
                let hits = find(&text, Kinds::from([SensitiveKind::Secret]));
                if !ranges
                    .into_iter()
                    .all(|part| is_covered(&hits, start + part.start..start + part.end))
                {
                    texts.push(text);
                }
            }
        }
        missed += texts.len();
        let most = (AROUND.len() * ROUNDS).div_ceil(50);
        assert!(texts.len() <= most, "{shape}: {texts:#?}");
    }
    assert!(planted > 10_000);
    assert!(missed * 100 <= planted, "{missed} of {planted} missed");
}

#[test]
fn planted_cards_are_found() {
    let mut random = Random(11);
    for (prefix, length) in CARDS {
        for round in 0..100 {
            let number = random.card(prefix, *length);
            let number = match (length, round % 3) {
                (16, 1) => grouped(&number, &[4, 4, 4, 4], " "),
                (16, 2) => grouped(&number, &[4, 4, 4, 4], "-"),
                (15, 1) => grouped(&number, &[4, 6, 5], " "),
                (14, 1) => grouped(&number, &[4, 6, 4], " "),
                _ => number,
            };
            let text = format!("Karte {number}, 12/29, CVV 123");
            let hits = find(&text, Kinds::from([SensitiveKind::Card]));
            assert!(is_covered(&hits, 6..6 + number.len()), "{text}");
            assert_eq!(hits.len(), 1, "{text}");
        }
    }
}

fn grouped(number: &str, lengths: &[usize], separator: &str) -> String {
    let mut rest = number;
    let groups = lengths.iter().map(|length| {
        let (group, behind) = rest.split_at(*length);
        rest = behind;
        group
    });
    groups.collect::<Vec<_>>().join(separator)
}

#[test]
fn few_random_numbers_are_cards() {
    let mut random = Random(13);
    // One in ten numbers has a valid check digit, and fewer have an issuer.
    let numbers = (0..1000).map(|_| random.of(b'D', 16));
    let cards = numbers
        .filter(|number| !find(number, Kinds::from([SensitiveKind::Card])).is_empty())
        .count();
    assert!(cards < 50, "{cards}");
}
