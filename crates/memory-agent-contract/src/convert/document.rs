//! Documents.

use memory_contract::{
    convert::{duration, timestamp},
    memory::MemoryOwner,
    proto,
};

use crate::document::{Document, DocumentName, OwnedDocument};

impl From<Document> for proto::Document {
    fn from(document: Document) -> Self {
        let Document {
            name: DocumentName { namespace, key },
            json,
            created,
            updated,
            ttl,
            expires,
        } = document;
        Self {
            namespace,
            key,
            json,
            create_time: Some(timestamp(created)),
            update_time: Some(timestamp(updated)),
            ttl: ttl.map(duration),
            expire_time: expires.map(timestamp),
        }
    }
}

impl From<OwnedDocument> for proto::ExportedDocument {
    fn from(owned: OwnedDocument) -> Self {
        let OwnedDocument {
            owner: MemoryOwner { app, user },
            document,
            text,
        } = owned;
        let Document {
            name: DocumentName { namespace, key },
            json,
            created: _,
            updated: _,
            ttl,
            expires: _,
        } = document;
        Self {
            app_id: app.into(),
            user_id: user.into(),
            namespace,
            key,
            json,
            ttl: ttl.map(duration),
            indexed_text: text.unwrap_or_default(),
        }
    }
}
