//! The weights of the features, which the program `fit` of tools/ranking writes.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::features::{FEATURES, Features};

/// A linear score of the features, and a small network that adds to it. The score is on the scale of the
/// weighted sums, so that a threshold means about the same with and without the features.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// The score if all features are 0, without the network.
    pub bias: f64,
    /// The factors of the linear score, in the order of [`FEATURES`].
    pub factors: [f64; FEATURES.len()],
    /// The network's hidden units.
    pub units: Vec<Unit>,
}

/// A hidden unit. It adds its output times the softsign of the weighted features, which is
/// x / (1 + |x|).
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Its input if all features are 0.
    pub bias: f64,
    /// The factors of its input, in the order of [`FEATURES`].
    pub factors: [f64; FEATURES.len()],
    /// The most that it adds to the score or takes from it.
    pub output: f64,
}

/// The rows of the file that belong to no feature.
const BIAS: &str = "bias";
const OUTPUT: &str = "output";
const HEAD: &str =
    "# Weights of the ranking's features (src/rank/features.rs), written by `fit` of tools/ranking.
# Each column after the names is one score: first the linear one, then the hidden units.
";

/// The weights that are used.
static FITTED: LazyLock<Weights> = LazyLock::new(|| {
    Weights::parse(include_str!("../../data/ranking.tsv"))
        .expect("data/ranking.tsv has the weights of each feature")
});
static FITTED_COLUMNS: LazyLock<Columns> = LazyLock::new(|| Columns::new(&FITTED));

/// The scores of candidates: 0.0 to 1.0, or a little beyond.
pub(super) fn scores(features: &[Features]) -> Vec<f64> {
    FITTED_COLUMNS.scores(features)
}

/// The weights, ordered by feature: the products of one feature, for the linear score and all units,
/// are computed together, several at a time by the processor.
struct Columns {
    /// The bias of the linear score, then of each unit.
    biases: Vec<f64>,
    /// For each feature, the factors in the order of `biases`.
    factors: [Vec<f64>; FEATURES.len()],
    /// The output of each unit.
    outputs: Vec<f64>,
}

impl Columns {
    fn new(weights: &Weights) -> Self {
        let by_column = |linear: f64, of_unit: &dyn Fn(&Unit) -> f64| {
            let units = weights.units.iter().map(of_unit);
            std::iter::once(linear).chain(units).collect()
        };
        Self {
            biases: by_column(weights.bias, &|unit| unit.bias),
            factors: std::array::from_fn(|at| {
                by_column(weights.factors[at], &|unit| unit.factors[at])
            }),
            outputs: weights.units.iter().map(|unit| unit.output).collect(),
        }
    }

    fn scores(&self, features: &[Features]) -> Vec<f64> {
        let mut inputs = Vec::with_capacity(self.biases.len());
        let score = |features: &Features| {
            inputs.clear();
            inputs.extend_from_slice(&self.biases);
            for (feature, weights) in features.iter().zip(&self.factors) {
                for (input, weight) in inputs.iter_mut().zip(weights) {
                    *input += feature * weight;
                }
            }
            let units = inputs[1..].iter().zip(&self.outputs);
            inputs[0]
                + units
                    .map(|(input, output)| output * softsign(*input))
                    .sum::<f64>()
        };
        features.iter().map(score).collect()
    }
}

fn softsign(input: f64) -> f64 {
    input / (1.0 + input.abs())
}

impl Weights {
    /// The score of a candidate with these features.
    pub fn score(&self, features: &[f64; FEATURES.len()]) -> f64 {
        let weighed = |weights: &[f64; FEATURES.len()]| {
            let products = features.iter().zip(weights);
            products.map(|(one, weight)| one * weight).sum::<f64>()
        };
        let units = self.units.iter().map(|unit| {
            let input = unit.bias + weighed(&unit.factors);
            unit.output * softsign(input)
        });
        self.bias + weighed(&self.factors) + units.sum::<f64>()
    }

    /// A table with a row for each feature and a column for each score, separated by tabs. Lines
    /// that start with `#` are comments.
    pub fn to_text(&self) -> String {
        let mut text = HEAD.to_owned();
        let mut row = |name: &str, linear: f64, of_unit: &dyn Fn(&Unit) -> f64| {
            let values = std::iter::once(linear).chain(self.units.iter().map(of_unit));
            let values: String = values.map(|value| format!("\t{value:.5}")).collect();
            text.push_str(&format!("{name}{values}\n"));
        };
        row(BIAS, self.bias, &|unit| unit.bias);
        for (at, name) in FEATURES.into_iter().enumerate() {
            row(name, self.factors[at], &|unit| unit.factors[at]);
        }
        row(OUTPUT, 1.0, &|unit| unit.output);
        text
    }

    /// Reads what [`Weights::to_text`] wrote.
    ///
    /// # Errors
    /// A text that names the wrong line, or the missing weights.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut rows = HashMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, values) = line.split_once('\t').unwrap_or((line, ""));
            let values: Result<Vec<f64>, _> = values.split('\t').map(str::parse).collect();
            match values {
                Ok(values) if values.iter().all(|value| value.is_finite()) => {
                    rows.insert(name, values)
                }
                _ => return Err(format!("not a name and numbers after tabs: {line:?}")),
            };
        }
        let columns = rows.get(BIAS).map_or(0, Vec::len);
        let named = |name: &str| match rows.get(name) {
            Some(row) if row.len() == columns => Ok(row),
            Some(row) => Err(format!("{name} has {} weights, not {columns}", row.len())),
            None => Err(format!("no weights of {name}")),
        };
        let (biases, outputs) = (named(BIAS)?, named(OUTPUT)?);
        let features = FEATURES.into_iter().map(named);
        let features: Vec<&Vec<f64>> = features.collect::<Result<_, _>>()?;
        let factors = |column: usize| std::array::from_fn(|at| features[at][column]);
        let unit = |column: usize| Unit {
            bias: biases[column],
            factors: factors(column),
            output: outputs[column],
        };
        Ok(Self {
            bias: biases[0],
            factors: factors(0),
            units: (1..columns).map(unit).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::MATCHES;
    use super::*;

    #[test]
    fn weights_are_read_as_they_were_written() {
        assert_eq!(Weights::parse(&FITTED.to_text()).as_ref(), Ok(&*FITTED));
        assert!(FITTED.factors.iter().any(|weight| *weight != 0.0));
        for (text, error) in [
            ("", "no weights of bias"),
            (
                "bias\t1\nsum 1",
                "not a name and numbers after tabs: \"sum 1\"",
            ),
            (
                "sum\tNaN",
                "not a name and numbers after tabs: \"sum\\tNaN\"",
            ),
            ("bias\t1\t2\noutput\t1", "output has 1 weights, not 2"),
        ] {
            assert_eq!(Weights::parse(text), Err(error.to_owned()));
        }
    }

    #[test]
    fn a_score_is_linear_with_bent_units_beside_it() {
        let mut factors = [0.0; FEATURES.len()];
        factors[1] = 2.0;
        let unit = |bias, output| Unit {
            bias,
            factors,
            output,
        };
        let weights = Weights {
            bias: 0.5,
            factors,
            units: vec![unit(0.0, 1.0), unit(-4.0, 3.0)],
        };
        let mut features = [0.0; FEATURES.len()];
        features[1] = 1.5;
        // 0.5 + 3, 3 / 4 of 1, and -1 / 2 of 3.
        assert!((weights.score(&features) - 2.75).abs() < 1e-9);
        let [score] = Columns::new(&weights).scores(&[features])[..] else {
            panic!("one score for each candidate");
        };
        assert!((score - 2.75).abs() < 1e-9);
    }

    #[test]
    fn of_two_messages_that_differ_only_in_a_match_the_better_one_scores_no_less() {
        let linear = std::iter::once((&FITTED.factors, 1.0));
        let units = FITTED.units.iter().map(|unit| (&unit.factors, unit.output));
        for (factors, output) in linear.chain(units) {
            assert!(output > 0.0);
            let weight = |name| factors[FEATURES.iter().position(|known| *known == name).unwrap()];
            for name in MATCHES {
                assert!(weight(name) >= 0.0, "{name}");
            }
            assert!(weight("lexical_own") >= weight("lexical_context"));
        }
    }
}
