//! Prints the API's messages as canonical protobuf JSON.

use std::io::{self, Write};
use std::sync::OnceLock;

use memory_contract::proto;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};

use crate::cli::failure::Failure;

/// Writes one message a line.
#[derive(Debug)]
pub struct JsonLines<W: Write>(W);

impl JsonLines<io::StdoutLock<'static>> {
    /// To standard output.
    pub fn stdout() -> Self {
        Self(io::stdout().lock())
    }
}

impl<W: Write> JsonLines<W> {
    pub fn new(writer: W) -> Self {
        Self(writer)
    }

    /// Writes the message called `name` in the contract, such as
    /// `RecallResponse`.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn write(&mut self, name: &str, message: &impl Message) -> Result<(), Failure> {
        let message = dynamic(name, message)?;
        serde_json::to_writer(&mut self.0, &message).map_err(Failure::output)?;
        self.0.write_all(b"\n").map_err(Failure::output)
    }

    /// Makes sure that everything is written.
    ///
    /// # Errors
    /// When it cannot be.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.0.flush().map_err(Failure::output)
    }
}

/// Prints one message of the contract, called `name` there, as one line of JSON.
///
/// # Errors
/// When the output cannot be written.
pub fn print_message(name: &str, message: &impl Message) -> Result<(), Failure> {
    let mut lines = JsonLines::stdout();
    lines.write(name, message)?;
    lines.finish()
}

/// Prints a value that is not a message of the contract as one line of JSON.
///
/// # Errors
/// When the output cannot be written.
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, value).map_err(Failure::output)?;
    out.write_all(b"\n")
        .and_then(|()| out.flush())
        .map_err(Failure::output)
}

/// The full names of the contract's services.
pub fn service_names() -> Vec<String> {
    let services = pool().into_iter().flat_map(DescriptorPool::services);
    let names = services.map(|service| service.full_name().to_owned());
    names
        .filter(|name| name.starts_with("recollect."))
        .collect()
}

/// JSON text on one line. Its strings have no line breaks: JSON escapes them.
pub fn on_one_line(json: &str) -> String {
    json.replace(char::is_control, " ")
}

fn dynamic(name: &str, message: &impl Message) -> Result<DynamicMessage, Failure> {
    DynamicMessage::decode(descriptor(name)?, message.encode_to_vec().as_slice())
        .map_err(|error| Failure::machine(format!("cannot describe {name}: {error}"), ""))
}

fn descriptor(name: &str) -> Result<MessageDescriptor, Failure> {
    pool()
        .and_then(|pool| pool.get_message_by_name(&format!("recollect.v1.{name}")))
        .ok_or_else(|| Failure::machine(format!("this build lacks the description of {name}"), ""))
}

fn pool() -> Option<&'static DescriptorPool> {
    static POOL: OnceLock<Option<DescriptorPool>> = OnceLock::new();
    POOL.get_or_init(|| DescriptorPool::decode(proto::DESCRIPTORS).ok())
        .as_ref()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn messages_survive_the_way_through_json() {
        let thread = proto::Thread {
            thread_id: "0197b6a0-5f0e-7c3e-9a39-5d6c2e1f0a11".to_owned(),
            last_seq: 7,
            ..Default::default()
        };
        let kind = proto::record::Kind::Thread(thread);
        let record = proto::Record {
            kind: Some(kind.clone()),
        };
        let mut lines = JsonLines::new(Vec::new());
        lines.write("Record", &record).unwrap();
        let json: Value = serde_json::from_slice(&lines.0).unwrap();
        assert_eq!(
            json["thread"]["lastSeq"], "7",
            "64-bit numbers are strings in protobuf's JSON"
        );
        assert_eq!(memory_import::record_from(&json).unwrap(), kind);
    }

    #[test]
    fn json_is_shown_on_one_line() {
        assert_eq!(on_one_line("{\n\t\"a\": \"b  c\"}"), "{  \"a\": \"b  c\"}");
    }
}
