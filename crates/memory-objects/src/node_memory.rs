//! The JSON of a node's memory in object storage, version 1, which
//! `node_memory_service.proto` documents for other programs. A change here changes the
//! stored format.

use memory_agent_contract::node::NodeMessage;
use memory_contract::{
    file::{FileExtent, FileLocation, FileRef, FileType},
    message::Role,
};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

/// The only version so far.
const VERSION: u64 = 1;

/// The stored form of a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredMessage {
    /// Its id, unique within the node.
    pub message_id: String,
    /// The message before it; none for the first.
    pub parent_message_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// The message of the thread that its turn belongs to.
    pub thread_message_id: Option<String>,
    role: Role,
    content: String,
    #[serde(default)]
    files: Vec<StoredFile>,
    #[serde(default)]
    token_count: i32,
    #[serde(with = "time::serde::rfc3339")]
    created_at: OffsetDateTime,
}

/// The stored form of a reference to a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct StoredFile {
    #[serde(rename = "type")]
    kind: FileType,
    transfer_method: TransferMethod,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upload_file_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_file_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    belongs_to: Role,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    mime_type: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    size_bytes: i64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    caption: String,
    #[serde(default, skip_serializing_if = "FileExtent::is_unknown")]
    extent: FileExtent,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TransferMethod {
    LocalFile,
    RemoteUrl,
    ToolFile,
}

#[derive(Serialize)]
struct Written<'a> {
    version: u64,
    messages: Vec<&'a StoredMessage>,
}

#[derive(Deserialize)]
struct VersionOnly {
    version: u64,
}

#[derive(Deserialize)]
struct Read {
    messages: Vec<StoredMessage>,
}

/// Writes an object.
pub(crate) fn write_node_memory<'a>(messages: impl Iterator<Item = &'a StoredMessage>) -> Vec<u8> {
    let written = Written {
        version: VERSION,
        messages: messages.collect(),
    };
    // Strings, numbers and times of the years 1 to 9999: nothing can fail.
    serde_json::to_vec(&written).unwrap_or_default()
}

/// Reads an object. Keys that it does not know are no matter.
///
/// # Errors
/// What is wrong with it, without any content.
pub(crate) fn read_node_memory(json: &[u8]) -> Result<Vec<StoredMessage>, String> {
    let invalid = |error: serde_json::Error| {
        format!(
            "is not the JSON of a node's memory, at line {} column {}",
            error.line(),
            error.column()
        )
    };
    let VersionOnly { version } = serde_json::from_slice(json).map_err(invalid)?;
    if version != VERSION {
        return Err(format!("has the version {version}; {VERSION} is known"));
    }
    let Read { messages } = serde_json::from_slice(json).map_err(invalid)?;
    for message in &messages {
        if let Some(index) = message
            .files
            .iter()
            .position(|file| file.location().is_none())
        {
            return Err(format!(
                "has a file without a location, number {index} of a message"
            ));
        }
    }
    Ok(messages)
}

impl From<NodeMessage> for StoredMessage {
    fn from(message: NodeMessage) -> Self {
        let NodeMessage {
            id,
            parent,
            role,
            content,
            files,
            tokens,
            thread_message,
            created,
        } = message;
        Self {
            message_id: id,
            parent_message_id: parent,
            thread_message_id: thread_message,
            role,
            content,
            files: files
                .into_iter()
                .map(|file| StoredFile::new(file, role))
                .collect(),
            token_count: tokens,
            created_at: created,
        }
    }
}

impl From<StoredMessage> for NodeMessage {
    fn from(message: StoredMessage) -> Self {
        let StoredMessage {
            message_id,
            parent_message_id,
            thread_message_id,
            role,
            content,
            files,
            token_count,
            created_at,
        } = message;
        Self {
            id: message_id,
            parent: parent_message_id,
            role,
            content,
            files: files.into_iter().filter_map(StoredFile::into_ref).collect(),
            tokens: token_count.max(0),
            thread_message: thread_message_id,
            created: created_at,
        }
    }
}

impl StoredMessage {
    /// Who wrote it.
    pub(crate) fn role(&self) -> Role {
        self.role
    }
}

impl StoredFile {
    fn new(file: FileRef, belongs_to: Role) -> Self {
        let FileRef {
            kind,
            location,
            name,
            mime_type,
            size_bytes,
            caption,
            extent,
        } = file;
        let (mut upload_file_id, mut tool_file_id, mut url) = (None, None, None);
        let transfer_method = match location {
            FileLocation::UploadFileId(id) => {
                upload_file_id = Some(id);
                TransferMethod::LocalFile
            }
            FileLocation::ToolFileId(id) => {
                tool_file_id = Some(id);
                TransferMethod::ToolFile
            }
            FileLocation::Url(address) => {
                url = Some(address);
                TransferMethod::RemoteUrl
            }
        };
        Self {
            kind,
            transfer_method,
            upload_file_id,
            tool_file_id,
            url,
            belongs_to,
            name,
            mime_type,
            size_bytes,
            caption,
            extent,
        }
    }

    /// The location in the field that the transfer method requires.
    fn location(&self) -> Option<FileLocation> {
        match self.transfer_method {
            TransferMethod::LocalFile => {
                self.upload_file_id.clone().map(FileLocation::UploadFileId)
            }
            TransferMethod::ToolFile => self.tool_file_id.clone().map(FileLocation::ToolFileId),
            TransferMethod::RemoteUrl => self.url.clone().map(FileLocation::Url),
        }
    }

    fn into_ref(self) -> Option<FileRef> {
        Some(FileRef {
            location: self.location()?,
            kind: self.kind,
            name: self.name,
            mime_type: self.mime_type,
            size_bytes: self.size_bytes,
            caption: self.caption,
            extent: self.extent,
        })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(size: &i64) -> bool {
    *size == 0
}
