//! Streams of responses: the last event has the whole response.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::unstored::Unstored;

/// A response that is being made.
#[derive(Debug, Default)]
pub(super) struct ResponsesStream {
    /// The items that are complete, as JSON.
    items: Vec<String>,
    /// The response of the last event, as JSON.
    response: Option<String>,
    has_failed: bool,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    item: Option<&'a RawValue>,
}

impl ResponsesStream {
    pub(super) fn event(&mut self, data: &[u8]) {
        let Ok(event) = serde_json::from_slice::<Event<'_>>(data) else {
            // Such as `[DONE]`, which some servers send.
            return;
        };
        match (event.kind.as_str(), event.response, event.item) {
            ("response.output_item.done", _, Some(item)) => self.items.push(item.get().to_owned()),
            ("response.completed" | "response.incomplete", Some(response), _) => {
                self.response = Some(response.get().to_owned());
            }
            ("response.failed" | "error", ..) => self.has_failed = true,
            _ => {}
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.response.is_some() || self.has_failed
    }

    /// The response.
    pub(super) fn answer(self) -> Result<String, Unstored> {
        #[derive(Deserialize)]
        struct Response {
            #[serde(default)]
            id: String,
            #[serde(default)]
            output: Vec<serde::de::IgnoredAny>,
        }

        let response = self.response.filter(|_| !self.has_failed);
        let response = response.ok_or(Unstored::Unfinished)?;
        let read: Response = serde_json::from_str(&response).map_err(|_| Unstored::Unreadable)?;
        if !read.output.is_empty() || self.items.is_empty() {
            return Ok(response);
        }
        // Some servers leave the output out of the last event.
        let id = serde_json::to_string(&read.id).map_err(|_| Unstored::Unreadable)?;
        let items = self.items.join(",");
        Ok(format!(r#"{{"id":{id},"output":[{items}]}}"#))
    }
}
