//! The apps and users that a key is bound to.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use crate::{Invalid, check, limits};

/// The data within a tenant that a key reaches; by default all of it. A clone shares the lists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BoundLists", into = "BoundLists")]
pub struct KeyBounds(Option<Arc<Bound>>);

#[derive(Debug, PartialEq, Eq)]
struct Bound {
    lists: BoundLists,
    json: String,
}

/// The lists of a key's bounds. With ids or prefixes of apps, a key reaches the data of the apps that
/// have one of them; the same for users. Without either it reaches all apps, or all users and
/// the data that belongs to none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BoundLists {
    /// Apps, by their ids.
    #[serde(deserialize_with = "named", skip_serializing_if = "Vec::is_empty")]
    pub app_ids: Vec<String>,
    /// Apps, by the beginnings of their ids.
    #[serde(deserialize_with = "named", skip_serializing_if = "Vec::is_empty")]
    pub app_id_prefixes: Vec<String>,
    /// Users, by their ids.
    #[serde(deserialize_with = "named", skip_serializing_if = "Vec::is_empty")]
    pub user_ids: Vec<String>,
    /// Users, by the beginnings of their ids.
    #[serde(deserialize_with = "named", skip_serializing_if = "Vec::is_empty")]
    pub user_id_prefixes: Vec<String>,
}

/// A list that is present but empty would bind to nothing, and reads as if it did not bind at all.
fn named<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let list = Vec::<String>::deserialize(deserializer)?;
    match list.is_empty() {
        true => Err(serde::de::Error::custom(
            "a list of bounds must not be empty: leave it out for no bound",
        )),
        false => Ok(list),
    }
}

impl KeyBounds {
    /// The bounds of these lists.
    ///
    /// # Errors
    /// An empty or too long id or prefix, and too many of them, by the name of the list.
    pub fn new(lists: BoundLists) -> Result<Self, Invalid> {
        let apps = limits::APP_ID_CHARS;
        let users = limits::USER_ID_CHARS;
        for (field, list, chars) in [
            ("app_ids", &lists.app_ids, apps),
            ("app_id_prefixes", &lists.app_id_prefixes, apps),
            ("user_ids", &lists.user_ids, users),
            ("user_id_prefixes", &lists.user_id_prefixes, users),
        ] {
            if list.len() > limits::KEY_BOUNDS {
                let problem = format!("must have at most {} entries", limits::KEY_BOUNDS);
                return Err(Invalid::new(field, problem));
            }
            for (index, id) in list.iter().enumerate() {
                check::required_text(&format!("{field}[{index}]"), id.clone(), chars)?;
            }
        }
        if lists == BoundLists::default() {
            return Ok(Self::default());
        }
        // Lists of texts serialize.
        let json = serde_json::to_string(&lists).unwrap_or_default();
        Ok(Self(Some(Arc::new(Bound { lists, json }))))
    }

    /// Whether the key reaches the whole tenant.
    pub fn is_unbound(&self) -> bool {
        self.0.is_none()
    }

    /// Whether the key reaches the data of a user of an app.
    pub fn allow(&self, app: Option<&str>, user: Option<&str>) -> bool {
        self.allow_app(app) && self.allow_user(user)
    }

    /// Whether the key reaches the data of some user of an app; `None` stands for all apps.
    pub fn allow_app(&self, app: Option<&str>) -> bool {
        self.lists()
            .is_none_or(|lists| allow(&lists.app_ids, &lists.app_id_prefixes, app))
    }

    /// Whether the key reaches the data of a user of some app. An empty user is data that belongs to no
    /// user; `None` stands for all users and data of none.
    pub fn allow_user(&self, user: Option<&str>) -> bool {
        self.lists()
            .is_none_or(|lists| allow(&lists.user_ids, &lists.user_id_prefixes, user))
    }

    /// The lists; `None` without bounds.
    pub fn lists(&self) -> Option<&BoundLists> {
        self.0.as_deref().map(|bound| &bound.lists)
    }

    /// The lists as JSON, which row-level security reads; empty without bounds.
    pub fn json(&self) -> &str {
        self.0.as_deref().map_or("", |bound| &bound.json)
    }
}

impl TryFrom<BoundLists> for KeyBounds {
    type Error = Invalid;

    fn try_from(lists: BoundLists) -> Result<Self, Invalid> {
        Self::new(lists)
    }
}

impl From<KeyBounds> for BoundLists {
    fn from(bounds: KeyBounds) -> Self {
        bounds.lists().cloned().unwrap_or_default()
    }
}

fn allow(ids: &[String], prefixes: &[String], id: Option<&str>) -> bool {
    let allowed = |id: &str| {
        ids.iter().any(|allowed| allowed == id)
            || prefixes.iter().any(|prefix| id.starts_with(prefix))
    };
    ids.is_empty() && prefixes.is_empty() || id.is_some_and(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(json: &str) -> KeyBounds {
        KeyBounds::new(serde_json::from_str(json).unwrap()).unwrap()
    }

    #[test]
    fn a_key_reaches_the_ids_and_the_prefixes_of_its_lists() {
        let key =
            bounds(r#"{"app_ids": ["shop"], "user_ids": ["ada"], "user_id_prefixes": ["eu-"]}"#);
        for (app, allowed) in [("shop", true), ("shop2", false), ("", false)] {
            assert_eq!(key.allow_app(Some(app)), allowed, "{app}");
        }
        for (user, allowed) in [
            ("ada", true),
            ("ada2", false),
            ("eu-1", true),
            ("eu", false),
            ("", false),
        ] {
            assert_eq!(key.allow(Some("shop"), Some(user)), allowed, "{user}");
            assert!(!key.allow(Some("bank"), Some(user)) && !key.allow(None, Some(user)));
        }
        assert!(!key.allow(Some("shop"), None) && !key.is_unbound());
    }

    #[test]
    fn without_lists_of_a_kind_a_key_reaches_all_of_it() {
        let key = bounds(r#"{"app_id_prefixes": ["shop-"]}"#);
        assert!(key.allow_app(Some("shop-de")) && !key.allow_app(Some("shop")));
        for user in [Some("anybody"), Some(""), None] {
            assert!(
                key.allow(Some("shop-de"), user) && !key.allow(None, user),
                "{user:?}"
            );
        }
        let key = bounds(r#"{"user_ids": ["ada"]}"#);
        assert!(key.allow(None, Some("ada")) && !key.allow(None, None));
        assert!(bounds("{}").is_unbound() && bounds("{}").json().is_empty());
        assert!(bounds("{}").allow(None, None));
    }

    #[test]
    fn a_list_that_would_bind_to_nothing_is_refused() {
        for wrong in [
            r#"{"user_ids": []}"#,
            r#"{"user_ids": "ada"}"#,
            r#"{"users": ["ada"]}"#,
        ] {
            assert!(
                serde_json::from_str::<BoundLists>(wrong).is_err(),
                "{wrong}"
            );
        }
        for (list, field) in [
            (vec![String::new()], "user_ids[0]"),
            (vec!["a".to_owned(); 101], "user_ids"),
        ] {
            let lists = BoundLists {
                user_ids: list,
                ..BoundLists::default()
            };
            assert_eq!(KeyBounds::new(lists).unwrap_err().field, field);
        }
    }
}
