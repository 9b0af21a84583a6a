use super::*;

fn ring(key: &SecretString, previous: &[&SecretString]) -> Keyring {
    Keyring::new(&SecretsConfig {
        key: key.clone(),
        previous_keys: previous.iter().map(|key| (*key).clone()).collect(),
    })
    .unwrap()
}

#[test]
fn a_value_comes_back_in_its_own_place_alone() {
    let ring = ring(&new_key().unwrap(), &[]);
    let seal = || ring.seal("ab", "c", &"the value".into()).unwrap();
    let opened = ring.open("ab", "c", seal()).unwrap();
    assert_eq!(opened.expose_secret(), "the value");
    for (tenant, name) in [("ab", "d"), ("x", "c"), ("a", "bc"), ("abc", "")] {
        let error = ring.open(tenant, name, seal()).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    }
    assert_ne!(seal().ciphertext, seal().ciphertext);
    let mut changed = seal();
    changed.ciphertext[0] ^= 1;
    ring.open("ab", "c", changed).unwrap_err();
}

#[test]
fn a_previous_key_still_opens_what_it_sealed() {
    let (old, new) = (new_key().unwrap(), new_key().unwrap());
    let seal = || ring(&old, &[]).seal("t", "n", &"v".into()).unwrap();
    let opened = ring(&new, &[&old]).open("t", "n", seal()).unwrap();
    assert_eq!(opened.expose_secret(), "v");
    let error = ring(&new, &[]).open("t", "n", seal()).unwrap_err();
    assert!(matches!(
        error,
        StoreError::Secret(SecretError::Unavailable { .. })
    ));
    let error = Keyring::default().open("t", "n", seal()).unwrap_err();
    assert!(error.to_string().contains("secrets.key"), "{error}");
}

#[test]
fn a_key_of_another_length_is_refused_and_not_repeated() {
    for key in ["hunter6", "aHVudGVyNg==", "=", &STANDARD.encode([7; 33])] {
        let config = SecretsConfig {
            key: key.into(),
            previous_keys: Vec::new(),
        };
        let error = Keyring::new(&config).unwrap_err().to_string();
        assert!(
            error.contains("32 bytes") && !error.contains(key),
            "{error}"
        );
    }
    let config = SecretsConfig {
        key: "".into(),
        previous_keys: vec![new_key().unwrap()],
    };
    assert!(Keyring::new(&config).is_err());
}
