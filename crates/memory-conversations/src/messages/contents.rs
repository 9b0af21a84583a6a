//! Content that messages contain themselves: in object storage, once for each tenant.

use std::{collections::HashMap, time::Duration};

use memory_contract::{
    MessageId, TenantId,
    file::{ContentDigest, InlineContent},
};
use memory_database::{
    StoreError,
    rows::{column, only, scalar},
};
use memory_objects::content_key;
use memory_postgres::{Caller, Params, query};
use memory_runtime::error_chain;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{ContentStore, ContentWorker};

/// After this time and that of one statement, what holds content has been written, or never
/// will be. It is longer than any call.
const SETTLE_AFTER: Duration = Duration::from_secs(900);
/// References that one run settles of one tenant.
const BATCH: i32 = 100;

/// Content that is about to be referred to.
#[derive(Clone, Debug)]
pub struct HeldContent {
    /// The message that will refer to it; or a claim, a new id that keeps it until a write
    /// says what refers to it.
    pub holder: MessageId,
    /// Its digest.
    pub digest: ContentDigest,
    /// The content; `None` where it is only named.
    pub content: Option<InlineContent>,
}

/// What one attempt of a write holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hold {
    holders: Vec<MessageId>,
    write: Uuid,
}

impl ContentStore<'_> {
    /// Stores content before what refers to it is written. Also returns the digests of those
    /// that are only named and not stored. What is not referred to afterwards is erased.
    ///
    /// # Errors
    /// `Objects`, `NoObjectStore`, or errors of the database.
    pub async fn hold(
        self,
        contents: Vec<HeldContent>,
    ) -> Result<(Hold, Vec<ContentDigest>), StoreError> {
        let tenant = &self.caller.tenant;
        let objects = self.store.require_objects()?;
        let digests: Vec<&[u8]> = contents.iter().map(|one| one.digest.as_bytes()).collect();
        let holders: Vec<String> = contents.iter().map(|one| one.holder.to_string()).collect();
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
        let write = Uuid::new_v4();
        let mut hold = Hold {
            holders: contents.iter().map(|one| one.holder).collect(),
            write,
        };
        hold.holders.dedup();
        let params: Params<'_> = &[&tenant.as_str(), &digests, &keys, &sizes, &holders, &write];
        let held = query!("contents/hold");
        let rows = self.store.pool.within(self.caller, held, params).await?;
        let mut found: HashMap<ContentDigest, Option<String>> = HashMap::new();
        for row in &rows {
            let key = (!column::<bool>(row, "stored")?).then(|| column(row, "object_key"));
            found.insert(digest_of(row)?, key.transpose()?);
        }
        let (mut missing, mut written, mut stored_digests) = (Vec::new(), Vec::new(), Vec::new());
        for HeldContent {
            digest, content, ..
        } in contents
        {
            match (found.get_mut(&digest), content) {
                (None, _) => missing.push(digest),
                (Some(key), Some(InlineContent { mime_type, bytes })) => {
                    if let Some(key) = key.take() {
                        objects.put_content(&key, bytes, &mime_type).await?;
                        stored_digests.push(digest.as_bytes().to_vec());
                        written.push(key);
                    }
                }
                (Some(_), None) => {}
            }
        }
        if !written.is_empty() {
            let params: Params<'_> = &[&tenant.as_str(), &stored_digests, &written, &write];
            let stored = query!("contents/stored");
            self.store.pool.within(self.caller, stored, params).await?;
        }
        Ok((hold, missing))
    }

    /// Erases content of messages and claims that were not written by the attempt that holds
    /// it. What another attempt holds, too, stays.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn release_unwritten(self, hold: &Hold) -> Result<(), StoreError> {
        if hold.holders.is_empty() {
            return Ok(());
        }
        let holders: Vec<String> = hold.holders.iter().map(ToString::to_string).collect();
        let params: Params<'_> = &[&self.caller.tenant.as_str(), &holders, &hold.write];
        let release = query!("contents/release_unwritten");
        self.store.pool.within(self.caller, release, params).await?;
        Ok(())
    }

    /// The keys of stored contents, in one query; without digests, in none.
    ///
    /// # Errors
    /// Only errors of the database.
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

impl ContentWorker<'_> {
    /// Erases content that was stored and never referred to, of at most `limit` tenants.
    /// Returns how many references it looked at.
    /// A tenant whose contents cannot be settled is logged and skipped.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn settle_contents(self, limit: u32) -> Result<u64, StoreError> {
        let age = SETTLE_AFTER.as_secs_f64();
        let params: Params<'_> = &[&age, &i64::from(limit)];
        let tenants = self
            .workers
            .pool
            .call_for_all(query!("contents/unsettled"), params)
            .await?;
        let mut settled = 0;
        for row in &tenants {
            let tenant = TenantId::new(column::<String>(row, "tenant_id")?);
            let caller = Caller::worker(tenant.clone());
            let params: Params<'_> = &[&tenant.as_str(), &age, &BATCH];
            let settle = query!("contents/settle");
            let rows = self.store.pool.within(&caller, settle, params).await;
            let settled_now = rows
                .map_err(StoreError::from)
                .and_then(only)
                .and_then(|row| scalar::<i64>(&row));
            match settled_now {
                Ok(count) => settled += count.unsigned_abs(),
                Err(error) => tracing::warn!(
                    tenant = tenant.as_str(),
                    error = %error_chain(&error),
                    "the contents of a tenant could not be settled"
                ),
            }
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
