//! The keys that secrets are encrypted with.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use memory_database::{SecretError, StoreError};
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    rand::{SecureRandom as _, SystemRandom},
};
use secrecy::{
    ExposeSecret as _, SecretString,
    zeroize::{Zeroize as _, Zeroizing},
};
use sha2::{Digest as _, Sha256};

use crate::config::SecretsConfig;

const KEY_BYTES: usize = 32;
/// Hexadecimal digits of a key's id.
const ID_CHARS: usize = 8;

/// The keys of `secrets` in the configuration, the one to encrypt with first.
#[derive(Debug, Default)]
pub struct Keyring(Vec<Key>);

#[derive(Debug)]
struct Key {
    /// The first digits of its SHA-256: identifies the key without revealing it.
    id: String,
    cipher: LessSafeKey,
}

/// An encrypted value.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub(crate) key_id: String,
    pub(crate) nonce: Vec<u8>,
    pub(crate) ciphertext: Vec<u8>,
}

/// A new random key for `secrets.key`, as base64.
///
/// # Errors
/// The machine's random number generator fails.
pub fn new_key() -> Result<SecretString, StoreError> {
    let mut bytes = Zeroizing::new([0; KEY_BYTES]);
    random(bytes.as_mut_slice())?;
    Ok(SecretString::from(STANDARD.encode(bytes.as_slice())))
}

impl Keyring {
    /// Reads the configured keys; there may be none.
    ///
    /// # Errors
    /// `Config`, with `key` or `previous_keys`, for one that is not the base64
    /// of 32 bytes.
    pub fn new(config: &SecretsConfig) -> Result<Self, StoreError> {
        let SecretsConfig { key, previous_keys } = config;
        if key.expose_secret().is_empty() {
            return match previous_keys.is_empty() {
                true => Ok(Self::default()),
                false => Err(wrong("key", "is required where there are previous_keys")),
            };
        }
        let mut keys = vec![read("key", key)?];
        for previous in previous_keys {
            keys.push(read("previous_keys", previous)?);
        }
        Ok(Self(keys))
    }

    /// Encrypts the value of a name of a tenant.
    pub(crate) fn seal(
        &self,
        tenant: &str,
        name: &str,
        value: &SecretString,
    ) -> Result<Sealed, StoreError> {
        let Some(Key { id, cipher }) = self.0.first() else {
            return Err(StoreError::Secret(SecretError::Unavailable {
                why: "the server's configuration has no secrets.key",
            }));
        };
        let mut nonce = [0; NONCE_LEN];
        random(&mut nonce)?;
        // Encrypted in place, so that no plaintext copy remains.
        let value = value.expose_secret().as_bytes();
        let mut buffer = Vec::with_capacity(value.len() + AES_256_GCM.tag_len());
        buffer.extend_from_slice(value);
        let sealed = cipher.seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(place(tenant, name)),
            &mut buffer,
        );
        if sealed.is_err() {
            buffer.zeroize();
            return Err(StoreError::Crypto {
                what: "encrypting a secret",
            });
        }
        Ok(Sealed {
            key_id: id.clone(),
            nonce: nonce.to_vec(),
            ciphertext: buffer,
        })
    }

    /// Decrypts what [`Keyring::seal`] made for this name of this tenant.
    pub(crate) fn open(
        &self,
        tenant: &str,
        name: &str,
        sealed: Sealed,
    ) -> Result<SecretString, StoreError> {
        let Sealed {
            key_id,
            nonce,
            ciphertext,
        } = sealed;
        let corrupt = |why: &str| StoreError::Corrupt {
            what: "secret",
            why: why.to_owned(),
        };
        let Some(Key { cipher, .. }) = self.0.iter().find(|key| key.id == key_id) else {
            return Err(StoreError::Secret(SecretError::Unavailable {
                why: match self.0.is_empty() {
                    true => "the server's configuration has no secrets.key",
                    false => {
                        "this one was encrypted with another key; add it to secrets.previous_keys"
                    }
                },
            }));
        };
        let nonce = Nonce::try_assume_unique_for_key(&nonce)
            .map_err(|_| corrupt("its nonce has the wrong length"))?;
        let mut buffer = Zeroizing::new(ciphertext);
        let value = cipher
            .open_in_place(nonce, Aad::from(place(tenant, name)), buffer.as_mut_slice())
            .map_err(|_| corrupt("it is not what was stored under this name"))?;
        let value = std::str::from_utf8(value).map_err(|_| corrupt("it is not UTF-8"))?;
        Ok(SecretString::from(value))
    }
}

/// The tenant and name of a value, as authenticated data. The length prefix keeps two
/// pairs from having the same bytes.
fn place(tenant: &str, name: &str) -> Vec<u8> {
    let mut place = (tenant.len() as u64).to_be_bytes().to_vec();
    place.extend_from_slice(tenant.as_bytes());
    place.extend_from_slice(name.as_bytes());
    place
}

fn read(field: &'static str, key: &SecretString) -> Result<Key, StoreError> {
    let problem = "must be the base64 of 32 bytes, as `openssl rand -base64 32` prints it";
    let bytes = STANDARD
        .decode(key.expose_secret().trim())
        .map(Zeroizing::new)
        .map_err(|_| wrong(field, problem))?;
    let cipher = UnboundKey::new(&AES_256_GCM, &bytes).map_err(|_| wrong(field, problem))?;
    let digest = Sha256::digest(bytes.as_slice());
    let mut id = hex::encode(digest);
    id.truncate(ID_CHARS);
    Ok(Key {
        id,
        cipher: LessSafeKey::new(cipher),
    })
}

fn wrong(key: &'static str, why: &str) -> StoreError {
    StoreError::Config {
        key,
        why: why.to_owned(),
    }
}

fn random(bytes: &mut [u8]) -> Result<(), StoreError> {
    SystemRandom::new()
        .fill(bytes)
        .map_err(|_| StoreError::Crypto {
            what: "drawing random numbers",
        })
}

#[cfg(test)]
mod tests;
