//! Personal data, ranges and names of hits, and texts that only look like secrets.

use memory_contract::policy::SensitiveKind;
use memory_redact::{Kinds, find, redact};

#[test]
fn personal_data_is_found() {
    for (text, redacted) in [
        (
            "Write to jane.doe+x@mail.example.co.uk.",
            "Write to [REDACTED:email].",
        ),
        (
            "邮箱是bob@example.com，谢谢",
            "邮箱是[REDACTED:email]，谢谢",
        ),
        ("<müller@straße.example>", "<[REDACTED:email]>"),
        (
            "IBAN: DE89 3704 0044 0532 0130 00.",
            "IBAN: [REDACTED:iban].",
        ),
        ("GB82WEST12345698765432 is mine", "[REDACTED:iban] is mine"),
        ("Call +49 (30) 1234-5678 now", "Call [REDACTED:phone] now"),
        ("(+86 138-1234-5678).", "([REDACTED:phone])."),
        ("+1 (555) 123-4567", "[REDACTED:phone]"),
        (
            "(555) 123-4567 or 555-123-4567",
            "[REDACTED:phone] or [REDACTED:phone]",
        ),
        ("Telefon: 030 12345678", "Telefon: [REDACTED:phone]"),
        ("**Mobile:** 0171/1234567", "**Mobile:** [REDACTED:phone]"),
        ("电话：13812345678。", "电话：[REDACTED:phone]。"),
        ("call us at (03) 9600 0162", "call us at [REDACTED:phone]"),
        ("0049 30 12345678", "[REDACTED:phone]"),
    ] {
        assert_eq!(redact(text, Kinds::from(SensitiveKind::ALL)).0, redacted);
    }
}

#[test]
fn other_long_texts_are_no_hits() {
    for text in [
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "id 550e8400-e29b-41d4-a716-446655440000 and 01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "md5 d41d8cd98f00b204e9800998ecf8427e",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
        "https://docs.example.com/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit#gid=0",
        "https://www.youtube.com/watch?v=dQw4w9WgXcQ&list=PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf",
        "order 4012-888-1881 of 2024-05-01T10:00:00Z, 1714557600000, 1714557600000000",
        "tweet https://x.com/a/status/1790000000000000000 and <@123456789012345678>",
        "password: process.env.DB_PASSWORD_2",
        "password = PasswordField('Password')",
        "password = getPassword2(user)",
        "token: string",
        "secretName: web-tls-v2",
        "api_key=your_api_key_here",
        "api_key=<YOUR-API-KEY-1>",
        "password=${DB_PASSWORD1}",
        "the token limit is 128000",
        "max_tokens: 4096",
        "tokenizer: bert-base-uncased-2024",
        "The secret is Python3.12",
        "password reset email",
        "Secretary: Annabelle1980",
        "token = await response2.json()",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "http://localhost:8080/a@b",
        "https://example.com:443/x?mail=a@b",
        "git@github.com:org/repo.git",
        "npm i left-pad@1.3.0 logo@2x.png",
        "git log -n 5 --pretty=%H",
        "basic authorization scheme",
        "UTC+01:00, 1+23456789, C++20",
        "ISBN 978-3-16-148410-0",
        "10.1038/s41586-020-2649-2",
        "3.14159265358979323846",
        "0.0067108864",
        "192.168.100.200",
        "1 000 000 000 000 000",
        "sk-learn-tutorial-for-beginners-and-experts",
        "disk-encryption-with-multiple-passwords",
    ] {
        assert_eq!(find(text, Kinds::from(SensitiveKind::ALL)), [], "{text}");
    }
}

#[test]
fn hits_have_the_right_range_and_name() {
    let text = "url postgres://app:s3cr3t-pw@db/app, schlüssel rck_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG!";
    let (redacted, hits) = redact(text, Kinds::from([SensitiveKind::Secret]));
    assert_eq!(
        redacted,
        "url postgres://app:[REDACTED:url-password]@db/app, schlüssel [REDACTED:recollect-key]!"
    );
    assert_eq!(&text[hits[0].range.clone()], "s3cr3t-pw");
    assert!(matches!(
        redact("plain", Kinds::from(SensitiveKind::ALL)).0,
        std::borrow::Cow::Borrowed(_)
    ));
    assert_eq!(find(text, Kinds::default()), []);
}
