//! Content that messages contain themselves: in object storage, once for each tenant.

use std::collections::HashMap;
use std::time::Duration;

use memory_contract::{ContentDigest, InlineContent, MessageId, TenantId};
use memory_objects::content_key;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    Caller, ContentStore, Node, Store, StoreError, WorkerStore,
    query::{Params, query},
    rows::{column, only, scalar},
};

/// After this time, what holds content has been written, or never will be. It is longer than
/// any call.
const SETTLE_AFTER: Duration = Duration::from_secs(3_600);
/// Contents that one run settles of one tenant.
const BATCH: i32 = 100;

/// What refers to content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentHolder {
    /// A message of a thread.
    Message(MessageId),
    /// The memory of a node.
    Node(Node),
}

/// Content that is about to be referred to.
#[derive(Clone, Debug)]
pub struct HeldContent {
    /// What will refer to it.
    pub holder: ContentHolder,
    /// Its digest.
    pub digest: ContentDigest,
    /// The content; `None` where it is only named.
    pub content: Option<InlineContent>,
}

impl ContentHolder {
    fn name(&self) -> String {
        match self {
            Self::Message(id) => id.to_string(),
            Self::Node(Node { thread, id }) => format!("{thread}/{id}"),
        }
    }
}

impl ContentStore<'_> {
    /// Stores content before what refers to it is written, and returns the digests of those
    /// that are only named and not stored. What is not referred to after an hour is erased.
    ///
    /// # Errors
    /// `Objects`, `NoObjectStore`, or those of the database.
    pub async fn hold(self, contents: Vec<HeldContent>) -> Result<Vec<ContentDigest>, StoreError> {
        let tenant = &self.caller.tenant;
        let objects = self.store.require_objects()?;
        let digests: Vec<&[u8]> = contents.iter().map(|one| one.digest.as_bytes()).collect();
        let holders: Vec<String> = contents.iter().map(|one| one.holder.name()).collect();
        let given = contents.iter().map(|one| one.content.as_ref());
        let (keys, sizes): (Vec<Option<String>>, Vec<Option<i64>>) = given
            .zip(&contents)
            .map(|(content, HeldContent { digest, .. })| {
                let size = content.and_then(|content| i64::try_from(content.bytes.len()).ok());
                (
                    size.map(|_| content_key(tenant, *digest, Uuid::new_v4())),
                    size,
                )
            })
            .unzip();
        let params: Params<'_> = &[&tenant.as_str(), &digests, &keys, &sizes, &holders];
        let held = query!("contents/hold");
        let rows = self.store.pool.within(self.caller, held, params).await?;
        let mut found: HashMap<ContentDigest, Option<String>> = HashMap::new();
        for row in &rows {
            let key = (!column::<bool>(row, "stored")?).then(|| column(row, "object_key"));
            found.insert(digest_of(row)?, key.transpose()?);
        }
        let (mut missing, mut written) = (Vec::new(), Vec::new());
        for HeldContent {
            digest, content, ..
        } in contents
        {
            match (found.get_mut(&digest), content) {
                (None, _) => missing.push(digest),
                (Some(key), Some(InlineContent { mime_type, bytes })) => {
                    if let Some(key) = key.take() {
                        objects.put_content(&key, bytes, &mime_type).await?;
                        written.push(key);
                    }
                }
                (Some(_), None) => {}
            }
        }
        if !written.is_empty() {
            let params: Params<'_> = &[&tenant.as_str(), &written];
            let stored = query!("contents/stored");
            self.store.pool.within(self.caller, stored, params).await?;
        }
        Ok(missing)
    }

    /// The keys of stored contents, in one query; without digests, in none.
    ///
    /// # Errors
    /// Only those of the database.
    pub async fn find(
        self,
        digests: &[ContentDigest],
    ) -> Result<HashMap<ContentDigest, String>, StoreError> {
        if digests.is_empty() {
            return Ok(HashMap::new());
        }
        let digests: Vec<&[u8]> = digests.iter().map(ContentDigest::as_bytes).collect();
        let params: Params<'_> = &[&self.caller.tenant.as_str(), &digests];
        let find = query!("contents/find");
        let rows = self.store.pool.within(self.caller, find, params).await?;
        let found = |row: &Row| Ok((digest_of(row)?, column(row, "object_key")?));
        rows.iter().map(found).collect()
    }
}

impl WorkerStore {
    /// Erases content that was stored and never referred to, of at most `limit` tenants.
    /// Returns how many contents it looked at.
    ///
    /// # Errors
    /// Only those of the database.
    pub async fn settle_contents(&self, store: &Store, limit: u32) -> Result<u64, StoreError> {
        let age = SETTLE_AFTER.as_secs_f64();
        let params: Params<'_> = &[&age, &i64::from(limit)];
        let tenants = self.pool.call(query!("contents/unsettled"), params).await?;
        let mut settled = 0;
        for row in &tenants {
            let tenant = TenantId::new(column::<String>(row, "tenant_id")?);
            let caller = Caller::worker(tenant.clone());
            let params: Params<'_> = &[&tenant.as_str(), &age, &BATCH];
            let settle = query!("contents/settle");
            let rows = store.pool.within(&caller, settle, params).await?;
            let count: i64 = scalar(&only(rows)?)?;
            settled += count.unsigned_abs();
        }
        Ok(settled)
    }
}

fn digest_of(row: &Row) -> Result<ContentDigest, StoreError> {
    ContentDigest::from_bytes(column(row, "digest")?).ok_or_else(|| StoreError::Corrupt {
        what: "content",
        why: "its digest has not 32 bytes".to_owned(),
    })
}
