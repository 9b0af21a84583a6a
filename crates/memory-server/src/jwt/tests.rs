use std::path::{Path, PathBuf};

use super::*;

const TOKENS: &str = include_str!("testdata/tokens.json");

fn tokens_of(group: &str) -> Vec<(String, String)> {
    let all: Value = serde_json::from_str(TOKENS).unwrap();
    let group = all[group].as_object().unwrap();
    group
        .iter()
        .map(|(name, token)| (name.clone(), token.as_str().unwrap().to_owned()))
        .collect()
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/jwt/testdata/keys.json")
}

fn config(keys_file: PathBuf) -> JwtConfig {
    JwtConfig {
        issuer: "https://issuer.example".to_owned(),
        audience: "recollect".to_owned(),
        keys_file: Some(keys_file),
        ..JwtConfig::default()
    }
}

#[tokio::test]
async fn every_algorithm_with_a_private_key_is_verified() {
    let tokens = Tokens::new(&config(file())).unwrap();
    let accepted = tokens_of("accepted");
    assert_eq!(accepted.len(), ALGORITHMS.len());
    for (algorithm, token) in accepted {
        assert!(Tokens::looks_like_token(&token));
        let TokenCaller { caller, lifetime } = tokens
            .verify(&token)
            .await
            .unwrap_or_else(|error| panic!("{algorithm}: {error:?}"));
        assert_eq!(caller.tenant.as_str(), "acme");
        assert_eq!(caller.actor, "jwt:backend");
        assert_eq!(
            caller.scopes,
            KeyScopes::from_iter([KeyScope::Read, KeyScope::Write])
        );
        assert!(lifetime > Duration::from_secs(3600), "{lifetime:?}");
    }
}

#[tokio::test]
async fn a_token_that_is_wrong_in_any_way_is_refused() {
    let tokens = Tokens::new(&config(file())).unwrap();
    let refused = tokens_of("refused");
    assert!(refused.len() >= 15);
    for (what, token) in refused {
        let verified = tokens.verify(&token).await;
        assert_eq!(verified.unwrap_err(), TokenError::Invalid, "a token {what}");
    }
    for text in ["a.b.c", "..", "rck_key"] {
        let verified = tokens.verify(text).await;
        assert_eq!(verified.unwrap_err(), TokenError::Invalid, "{text}");
    }
}

#[tokio::test]
async fn without_the_keys_of_the_issuer_nothing_is_decided() {
    let tokens = Tokens::new(&config(PathBuf::from("/nowhere/keys.json"))).unwrap();
    for (_, token) in tokens_of("accepted") {
        let verified = tokens.verify(&token).await;
        assert_eq!(verified.unwrap_err(), TokenError::KeysUnavailable);
    }
}

#[test]
fn scopes_are_words_or_a_list() {
    let both = KeyScopes::from_iter([KeyScope::Read, KeyScope::Delete]);
    for claim in [
        Value::from("delete openid read"),
        Value::from(vec!["read", "delete", "reader"]),
    ] {
        assert_eq!(scopes_of(Some(&claim)), both, "{claim}");
    }
    for claim in [None, Some(Value::from(7)), Some(Value::from("readdelete"))] {
        assert!(scopes_of(claim.as_ref()).is_empty(), "{claim:?}");
    }
}

#[tokio::test]
async fn a_token_is_bound_by_its_claims() {
    let bounds_of = async |config: JwtConfig, name: &str| {
        let (_, token) = tokens_of("bound")
            .into_iter()
            .find(|(found, _)| found == name)
            .unwrap();
        let verified = Tokens::new(&config).unwrap().verify(&token).await;
        verified.map(|found| found.caller.bounds.json().to_owned())
    };
    let of_user = |claim: &str| JwtConfig {
        user_claim: Some(claim.to_owned()),
        ..config(file())
    };
    let json = |text: &str| Ok(text.to_owned());
    let bounds = r#"{"app_id_prefixes":["shop-"],"user_ids":["backend","ada"]}"#;
    assert_eq!(bounds_of(config(file()), "bounds").await, json(bounds));
    assert_eq!(bounds_of(config(file()), "email").await, json(""));
    // The claim of a user narrows the bounds, and nothing widens them.
    let narrowed = r#"{"app_id_prefixes":["shop-"],"user_ids":["backend"]}"#;
    assert_eq!(bounds_of(of_user("sub"), "bounds").await, json(narrowed));
    let invalid = Err(TokenError::Invalid);
    assert_eq!(bounds_of(of_user("sub"), "bounds of others").await, invalid);
    let by_address = r#"{"user_ids":["ada@example.com"]}"#;
    assert_eq!(bounds_of(of_user("email"), "email").await, json(by_address));
    assert_eq!(bounds_of(of_user("email"), "bounds").await, invalid);
}
