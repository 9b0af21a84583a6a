//! The weights of the features, which `memory-bench fit` writes.

use std::sync::LazyLock;

use super::features::{FEATURES, Features};

/// A weight for each feature, and the score without any. The score is on the scale of the
/// weighted sums, so that a threshold means about the same with and without the features.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// The score if all features are 0.
    pub bias: f64,
    /// In the order of [`FEATURES`].
    pub of: [f64; FEATURES.len()],
}

const BIAS: &str = "bias";

/// The weights that are used.
static FITTED: LazyLock<Weights> = LazyLock::new(|| {
    Weights::parse(include_str!("../../data/ranking.tsv"))
        .expect("data/ranking.tsv has the weight of each feature")
});

/// The score of a candidate: 0.0 to 1.0, or a little beyond.
pub(super) fn score(features: &Features) -> f64 {
    FITTED.score(features)
}

impl Weights {
    /// The weighted sum of the features of a candidate.
    pub fn score(&self, features: &[f64; FEATURES.len()]) -> f64 {
        let weighed = features
            .iter()
            .zip(&self.of)
            .map(|(one, weight)| one * weight);
        self.bias + weighed.sum::<f64>()
    }

    /// One line a weight: name, tab, value. Lines that start with `#` are comments.
    pub fn to_text(&self) -> String {
        let names = std::iter::once(BIAS).chain(FEATURES);
        let values = std::iter::once(self.bias).chain(self.of);
        names
            .zip(values)
            .map(|(name, value)| format!("{name}\t{value:.5}\n"))
            .collect()
    }

    /// Reads what [`Weights::to_text`] wrote.
    ///
    /// # Errors
    /// Says which line is not a weight, or which weight is missing.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut read = Vec::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let weight = line.split_once('\t').and_then(|(name, value)| {
                let value: f64 = value.parse().ok()?;
                value.is_finite().then_some((name, value))
            });
            read.push(weight.ok_or_else(|| format!("not a name, a tab and a number: {line:?}"))?);
        }
        let named = |name: &str| {
            let found = read.iter().find(|(known, _)| *known == name);
            found
                .map(|(_, value)| *value)
                .ok_or_else(|| format!("no weight of {name}"))
        };
        let mut of = [0.0; FEATURES.len()];
        for (weight, name) in of.iter_mut().zip(FEATURES) {
            *weight = named(name)?;
        }
        Ok(Self {
            bias: named(BIAS)?,
            of,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_read_as_they_were_written() {
        assert_eq!(Weights::parse(&FITTED.to_text()).as_ref(), Ok(&*FITTED));
        assert!(FITTED.of.iter().any(|weight| *weight != 0.0));
        for (text, error) in [
            ("", "no weight of sum"),
            ("sum 1", "not a name, a tab and a number: \"sum 1\""),
            ("sum\tNaN", "not a name, a tab and a number: \"sum\\tNaN\""),
        ] {
            assert_eq!(Weights::parse(text), Err(error.to_owned()));
        }
    }
}
