//! What an app never keeps, found by its words.

use memory_text::folded_words;
use serde_json::Value;

/// What an app never makes a memory of.
#[derive(Clone, Debug, Default)]
pub struct NeverKept {
    entries: Vec<String>,
    /// The words of each entry; never empty.
    words: Vec<Vec<String>>,
}

impl NeverKept {
    /// Takes the entries of a policy.
    pub fn new(entries: &[String]) -> Self {
        let words = entries.iter().map(|entry| words_of(entry));
        Self {
            entries: entries.to_vec(),
            words: words.filter(|words| !words.is_empty()).collect(),
        }
    }

    /// The entries, as the policy has them.
    pub fn entries(&self) -> &[String] {
        &self.entries
    }

    /// Whether a text has an entry: all its words, one right after another.
    pub fn is_in(&self, text: &str) -> bool {
        if self.words.is_empty() {
            return false;
        }
        let words = words_of(text);
        let has = |entry: &Vec<String>| words.windows(entry.len()).any(|run| run == entry);
        self.words.iter().any(has)
    }

    /// Whether a key or a value of JSON has an entry.
    pub fn is_in_json(&self, value: &Value) -> bool {
        match value {
            Value::Null => false,
            Value::Bool(_) | Value::Number(_) => self.is_in(&value.to_string()),
            Value::String(text) => self.is_in(text),
            Value::Array(items) => items.iter().any(|item| self.is_in_json(item)),
            Value::Object(members) => members
                .iter()
                .any(|(key, value)| self.is_in(key) || self.is_in_json(value)),
        }
    }
}

fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    folded_words(text, |word| words.push(word.to_owned()));
    words
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn never(entries: &[&str]) -> NeverKept {
        let entries: Vec<String> = entries.iter().map(|entry| (*entry).to_owned()).collect();
        NeverKept::new(&entries)
    }

    #[test]
    fn an_entry_is_found_as_whole_words_in_any_case_and_script() {
        let never = never(&[
            "salary",
            "credit score",
            "Gehalt",
            "santé",
            "给料",
            "зарплата",
            "급여",
        ]);
        for text in [
            "Ada's SALARY is 50,000.",
            "Her credit-score: 700",
            "Ada bekommt ihr GEHALT am Ersten.",
            "Sa sante va mieux.",
            "她的给料很高",
            "Её Зарплата высокая",
            "급여가 올랐다",
        ] {
            assert!(never.is_in(text), "{text}");
        }
        for text in [
            "",
            "Ada likes salaries of others.",
            "Her credit is good, the score is 3:1.",
            "Die Gehaltserhöhung",
            "给她料理",
        ] {
            assert!(!never.is_in(text), "{text}");
        }
        assert!(!NeverKept::default().is_in("salary"));
    }

    #[test]
    fn an_entry_is_found_in_keys_and_values_of_json() {
        let never = never(&["salary", "700"]);
        assert!(never.is_in_json(&json!({"monthly_salary": 1})));
        assert!(never.is_in_json(&json!({"facts": [{"about": "her salary"}]})));
        assert!(never.is_in_json(&json!({"score": 700})));
        assert!(!never.is_in_json(&json!({"facts": [{"about": "her cat"}], "score": 7001})));
    }
}
