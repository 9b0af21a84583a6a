//! Signs by Standard Webhooks: <https://github.com/standard-webhooks/standard-webhooks>.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ring::hmac::{Context, HMAC_SHA256, Key};
use secrecy::{ExposeSecret as _, SecretString, zeroize::Zeroizing};

/// The prefix of a secret.
const PREFIX: &str = "whsec_";

/// The value of `webhook-signature`: a signature by each secret. `None`
/// if one of the secrets has another form.
pub(crate) fn signatures(
    secrets: &[SecretString],
    id: &str,
    timestamp: i64,
    body: &[u8],
) -> Option<String> {
    let signatures = secrets
        .iter()
        .map(|secret| signature(secret, id, timestamp, body));
    let signatures: Vec<String> = signatures.collect::<Option<_>>()?;
    Some(signatures.join(" "))
}

fn signature(secret: &SecretString, id: &str, timestamp: i64, body: &[u8]) -> Option<String> {
    let secret = secret.expose_secret();
    let bytes = STANDARD.decode(secret.strip_prefix(PREFIX)?).ok()?;
    let bytes = Zeroizing::new(bytes);
    let mut context = Context::with_key(&Key::new(HMAC_SHA256, &bytes));
    context.update(format!("{id}.{timestamp}.").as_bytes());
    context.update(body);
    let signature = STANDARD.encode(context.sign().as_ref());
    Some(format!("v1,{signature}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const BODY: &[u8] = br#"{"test": 2432232314}"#;

    fn signed(secrets: &[&str]) -> Option<String> {
        let secrets: Vec<SecretString> = secrets.iter().map(|text| (*text).into()).collect();
        signatures(&secrets, ID, 1_614_265_330, BODY)
    }

    /// The vector of the reference implementations.
    #[test]
    fn a_signature_is_that_of_the_specification() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(signed(&[secret]).as_deref(), Some(expected));
        let both = signed(&[secret, "whsec_AAAA"]).unwrap();
        let (first, second) = both.split_once(' ').unwrap();
        assert_eq!(first, expected);
        assert!(second.starts_with("v1,") && second != expected, "{second}");
        assert_eq!(signed(&["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]), None);
    }
}
