//! Applies JSON merge patches (RFC 7396) to a working memory's data.

use serde_json::{Map, Value};

/// Applies a JSON merge patch (RFC 7396) to an object: null removes a member, an object
/// is merged into the existing one, any other value replaces it.
pub fn merge_patch(target: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (key, value) in patch {
        match value {
            Value::Null => {
                target.remove(&key);
            }
            Value::Object(inner) => {
                let member = target.entry(key).or_insert(Value::Null);
                if !member.is_object() {
                    *member = Value::Object(Map::new());
                }
                if let Value::Object(member) = member {
                    merge_patch(member, inner);
                }
            }
            other => {
                target.insert(key, other);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Within a member, so that patches that are no object count too.
    fn check(original: Value, patch: Value, result: Value) {
        let of = |value: Value| Map::from_iter([("member".to_owned(), value)]);
        let mut target = of(original);
        merge_patch(&mut target, of(patch));
        assert_eq!(target, of(result));
    }

    /// Appendix A of RFC 7396. Its patches that are null as a whole remove the
    /// member here.
    #[test]
    fn the_examples_of_the_rfc_hold() {
        check(json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"}));
        check(
            json!({"a": "b"}),
            json!({"b": "c"}),
            json!({"a": "b", "b": "c"}),
        );
        check(json!({"a": "b"}), json!({"a": null}), json!({}));
        check(
            json!({"a": "b", "b": "c"}),
            json!({"a": null}),
            json!({"b": "c"}),
        );
        check(json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"}));
        check(json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]}));
        check(
            json!({"a": {"b": "c"}}),
            json!({"a": {"b": "d", "c": null}}),
            json!({"a": {"b": "d"}}),
        );
        check(
            json!({"a": [{"b": "c"}]}),
            json!({"a": [1]}),
            json!({"a": [1]}),
        );
        check(json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"]));
        check(json!({"a": "b"}), json!(["c"]), json!(["c"]));
        check(json!({"a": "foo"}), json!("bar"), json!("bar"));
        check(
            json!({"e": null}),
            json!({"a": 1}),
            json!({"e": null, "a": 1}),
        );
        check(
            json!([1, 2]),
            json!({"a": "b", "c": null}),
            json!({"a": "b"}),
        );
        check(
            json!({}),
            json!({"a": {"bb": {"ccc": null}}}),
            json!({"a": {"bb": {}}}),
        );
    }

    #[test]
    fn null_removes_a_member_or_does_nothing() {
        let mut target = Map::from_iter([("a".to_owned(), json!("foo"))]);
        merge_patch(&mut target, Map::from_iter([("b".to_owned(), Value::Null)]));
        assert_eq!(target.len(), 1);
        merge_patch(&mut target, Map::from_iter([("a".to_owned(), Value::Null)]));
        assert!(target.is_empty());
    }
}
