//! The metrics of a service's processes.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::Failure;

/// The metrics of a process at one moment, in the text format of Prometheus.
pub struct Metrics(String);

/// How often something was measured, and how long it took altogether.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Taken {
    pub count: f64,
    /// Seconds.
    pub sum: f64,
}

impl Taken {
    /// What was added since an earlier moment.
    pub fn since(self, before: Self) -> Self {
        Self {
            count: (self.count - before.count).max(0.0),
            sum: (self.sum - before.sum).max(0.0),
        }
    }
}

impl Metrics {
    /// Reads them from the address of a process.
    pub async fn read(addr: &str) -> Result<Self, Failure> {
        let answer = get(addr, "/metrics").await?;
        Ok(Self(answer.ok_or("the metrics do not answer")?))
    }

    /// The value of a counter or gauge; `None` if it is missing.
    pub fn value(&self, series: &str) -> Option<u64> {
        let mut lines = self.0.lines();
        lines.find_map(|line| line.strip_prefix(series)?.trim().parse().ok())
    }

    /// A histogram in seconds, all its series with this label together, such as `kind="query"`;
    /// with any label if it is empty.
    pub fn histogram(&self, name: &str, label: &str) -> Taken {
        let total = |suffix: &str| {
            let series = self.0.lines().filter_map(|line| {
                let rest = line.strip_prefix(name)?.strip_prefix(suffix)?;
                let (labels, value) = rest.rsplit_once(' ')?;
                let named = labels.is_empty() || labels.starts_with('{');
                (named && labels.contains(label)).then(|| value.parse::<f64>().ok())?
            });
            series.sum()
        };
        Taken {
            count: total("_count"),
            sum: total("_sum"),
        }
    }
}

/// Asks for a page of a process; `None` if it is not there, or not yet.
pub async fn get(addr: &str, path: &str) -> Result<Option<String>, Failure> {
    /// The longest wait for an answer.
    const ANSWER: Duration = Duration::from_secs(10);
    let ask = async {
        let mut stream = TcpStream::connect(addr).await?;
        let request = format!("GET {path} HTTP/1.0\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    };
    let answer = tokio::time::timeout(ANSWER, ask).await??;
    let first = answer.lines().next().unwrap_or_default();
    Ok(first.contains(" 200 ").then_some(answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_is_the_sum_of_its_series_with_a_label() {
        let text = "# TYPE embed_seconds histogram\n\
            embed_seconds_bucket{kind=\"query\",le=\"1\"} 3\n\
            embed_seconds_sum{kind=\"query\"} 0.5\n\
            embed_seconds_count{kind=\"query\"} 3\n\
            embed_seconds_sum{kind=\"document\"} 2\n\
            embed_seconds_count{kind=\"document\"} 1\n\
            busy 2\n";
        let metrics = Metrics(text.to_owned());
        let queries = metrics.histogram("embed_seconds", "kind=\"query\"");
        assert_eq!(
            queries,
            Taken {
                count: 3.0,
                sum: 0.5
            }
        );
        let all = metrics.histogram("embed_seconds", "");
        assert_eq!(
            all,
            Taken {
                count: 4.0,
                sum: 2.5
            }
        );
        assert_eq!(metrics.histogram("embed", ""), Taken::default());
        assert_eq!(metrics.value("busy"), Some(2));
        assert_eq!(metrics.value("idle"), None);
    }
}
