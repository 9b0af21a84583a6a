//! JSON documents of users and apps.

use std::time::Duration;

use memory_agent_contract::document::{
    Document, DocumentName, DocumentQuery, NamespaceQuery, NewDocument, OwnedDocument,
};
use memory_contract::{AppId, TenantId, UserId, key::KeyScope, limits, memory::MemoryOwner};
use memory_database::{
    StoreError,
    rows::{column, only, scalar},
    words,
};
use memory_postgres::{Caller, Params, query};
use tokio_postgres::Row;

use crate::document_calls::{
    DELETE, DeleteCall, Names, PUT, PutCall, created_count, list, owner_digest,
};
use crate::{DocumentStore, DocumentWorker};

/// Documents that were read by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadDocuments {
    /// The existing documents, in the order of their names.
    pub documents: Vec<Document>,
    /// How many of the names were looked up; fewer than all if the rest would be too large.
    pub read: usize,
}

/// A document that a search selected.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundDocument {
    /// The document.
    pub document: Document,
    /// How well it matches, 0 to 1; `None` if it was not compared with a query.
    pub score: Option<f32>,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundDocuments {
    /// The documents in order.
    pub documents: Vec<FoundDocument>,
    /// Whether there are more after them.
    pub more: bool,
}

/// Conditions as the columns of a query.
struct Conditions<'a> {
    /// JSON lists of names.
    fields: Vec<String>,
    operators: Vec<&'a str>,
    values: Vec<&'a str>,
}

impl<'a> Conditions<'a> {
    fn of(search: &'a DocumentQuery) -> Self {
        let conditions = || search.conditions.iter();
        Self {
            fields: conditions().map(|one| list(&one.field)).collect(),
            operators: conditions().map(|one| one.operator).collect(),
            values: conditions().map(|one| one.json.as_str()).collect(),
        }
    }
}

impl DocumentStore<'_> {
    /// Stores documents, all or none, in place of documents with the same names. Returns how many
    /// of them are new.
    ///
    /// # Errors
    /// `DeletionInProgress`, `DocumentTooLarge`; `NeedsErase` for a caller without the scope
    /// `delete` and a document that exists with another value, or would live longer.
    pub async fn put_documents(
        self,
        owner: &MemoryOwner,
        documents: &[NewDocument],
    ) -> Result<i64, StoreError> {
        let may_erase = self.caller.scopes.allow(KeyScope::Delete);
        let put = PutCall::of(self.caller, owner, documents, may_erase, None);
        let pool = &self.store.pool;
        let rows = pool.call(self.caller, PUT, &put.params()).await?;
        created_count(&only(rows)?)
    }

    /// Reads documents by name. With `refresh`, they live for their time to live from now on.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn get_documents(
        self,
        owner: &MemoryOwner,
        names: &[DocumentName],
        refresh: bool,
    ) -> Result<ReadDocuments, StoreError> {
        let Names { namespaces, keys } = Names::of(names.iter());
        let room = i64::try_from(limits::ANSWER_BYTES).unwrap_or(i64::MAX);
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &owner_digest(owner),
            &namespaces,
            &keys,
            &refresh,
            &room,
        ];
        let rows = self
            .store
            .pool
            .call(self.caller, query!("documents/get"), params)
            .await?;
        let mut read = names.len();
        let mut documents = Vec::with_capacity(rows.len());
        for row in &rows {
            if column(row, "beyond")? {
                let place: i64 = column(row, "place")?;
                read = usize::try_from(place - 1).unwrap_or_default();
                break;
            }
            documents.push(document(row)?);
        }
        Ok(ReadDocuments { documents, read })
    }

    /// The next documents of an export, grouped by app and user, after `after`; empty after the
    /// last one. `app` and `user` filter.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn export_documents(
        self,
        app: Option<&AppId>,
        user: Option<&UserId>,
        after: Option<&(MemoryOwner, DocumentName)>,
        limit: u32,
    ) -> Result<Vec<OwnedDocument>, StoreError> {
        let (after_app, after_user, namespace, key) = match after {
            Some((owner, name)) => (
                owner.app.as_str(),
                owner.user.as_str(),
                list(&name.namespace),
                name.key.as_str(),
            ),
            None => ("", "", list(&[]), ""),
        };
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &app.map(AppId::as_str),
            &user.map(UserId::as_str),
            &after_app,
            &after_user,
            &namespace,
            &key,
            &i64::from(limit),
            &i64::try_from(limits::PAGE_BYTES).unwrap_or(i64::MAX),
        ];
        let query = query!("documents/export");
        let rows = self.store.pool.within(self.caller, query, params).await?;
        rows.iter().map(owned).collect()
    }

    /// A document as an export has it; `None` if there is none of the name.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn exported_document(
        self,
        owner: &MemoryOwner,
        name: &DocumentName,
    ) -> Result<Option<OwnedDocument>, StoreError> {
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &owner_digest(owner),
            &list(&name.namespace),
            &name.key,
        ];
        let query = query!("documents/exported");
        let rows = self.store.pool.within(self.caller, query, params).await?;
        rows.first().map(owned).transpose()
    }

    /// The texts of the documents with the most words of the query, at most `most`, among the
    /// documents that a search selects, and the number of all that it selects.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn document_candidates(
        self,
        owner: &MemoryOwner,
        search: &DocumentQuery,
        most: u32,
    ) -> Result<(Vec<(DocumentName, String)>, i64), StoreError> {
        let Conditions {
            fields,
            operators,
            values,
        } = Conditions::of(search);
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &owner_digest(owner),
            &search.prefix,
            &fields,
            &operators,
            &values,
            &words::of_query(&search.text),
            &i64::from(most),
        ];
        let query = query!("documents/candidates");
        let rows = self.store.pool.within(self.caller, query, params).await?;
        let text = |row: &Row| Ok((name(row)?, column(row, "text")?));
        let texts = rows.iter().map(text).collect::<Result<_, StoreError>>()?;
        let all = rows.first().map(|row| column(row, "selected_count"));
        Ok((texts, all.transpose()?.unwrap_or_default()))
    }

    /// Finds documents. A query is matched by word, and the documents in `alike` also by how
    /// close their meaning is to the query's, -1 to 1.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn search_documents(
        self,
        owner: &MemoryOwner,
        search: &DocumentQuery,
        alike: Option<&[(DocumentName, f32)]>,
    ) -> Result<FoundDocuments, StoreError> {
        let DocumentQuery {
            prefix,
            conditions: _,
            text,
            limit,
            offset,
            refresh,
            room,
        } = search;
        let Conditions {
            fields,
            operators,
            values,
        } = Conditions::of(search);
        let compared = alike.map(|alike| Names::of(alike.iter().map(|(name, _)| name)));
        let likeness = |alike: &[(DocumentName, f32)]| -> Vec<f64> {
            alike
                .iter()
                .map(|(_, likeness)| f64::from(*likeness))
                .collect()
        };
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &owner_digest(owner),
            prefix,
            &fields,
            &operators,
            &values,
            &(!text.trim().is_empty()).then(|| words::of_query(text)),
            &compared.as_ref().map(|names| &names.namespaces),
            &compared.as_ref().map(|names| &names.keys),
            &alike.map(likeness),
            &i64::from(*limit),
            &i64::from(*offset),
            refresh,
            room,
        ];
        let rows = self
            .store
            .pool
            .call(self.caller, query!("documents/search"), params)
            .await?;
        let found = |row: &Row| {
            Ok(FoundDocument {
                document: document(row)?,
                score: column::<Option<f64>>(row, "score")?.map(|score| score as f32),
            })
        };
        Ok(FoundDocuments {
            more: rows.first().map_or(Ok(false), |row| column(row, "more"))?,
            documents: rows.iter().map(found).collect::<Result<_, StoreError>>()?,
        })
    }

    /// Lists namespaces that have documents, in order, and whether there are more.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn list_namespaces(
        self,
        owner: &MemoryOwner,
        wanted: &NamespaceQuery,
    ) -> Result<(Vec<Vec<String>>, bool), StoreError> {
        let NamespaceQuery {
            prefix,
            suffix,
            depth,
            limit,
            offset,
        } = wanted;
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &owner_digest(owner),
            prefix,
            suffix,
            &depth.and_then(|depth| i32::try_from(depth).ok()),
            &(i64::from(*limit) + 1),
            &i64::from(*offset),
        ];
        let query = query!("documents/list_namespaces");
        let rows = self.store.pool.within(self.caller, query, params).await?;
        let namespaces = rows.iter().map(scalar).collect::<Result<Vec<_>, _>>();
        let mut namespaces: Vec<Vec<String>> = namespaces?;
        let more = namespaces.len() > *limit as usize;
        namespaces.truncate(*limit as usize);
        Ok((namespaces, more))
    }

    /// Erases documents by name. Returns how many existed.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn delete_documents(
        self,
        owner: &MemoryOwner,
        names: &[DocumentName],
    ) -> Result<i64, StoreError> {
        let delete = DeleteCall::of(self.caller, owner, names, None);
        scalar(&only(
            self.store
                .pool
                .call(self.caller, DELETE, &delete.params())
                .await?,
        )?)
    }

    /// Erases documents that have expired, at most `limit`. Returns how many.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn expire_documents(self, limit: u32) -> Result<u64, StoreError> {
        let params: Params<'_> = &[
            &self.caller.tenant.as_str(),
            &self.caller.actor,
            &i64::from(limit),
        ];
        let query = query!("documents/sweep");
        let row = only(self.store.pool.call(self.caller, query, params).await?)?;
        Ok(scalar::<i64>(&row)?.unsigned_abs())
    }
}

impl DocumentWorker<'_> {
    /// Erases expired documents, at most `limit` of each tenant and looking at
    /// as many. Returns how many had expired.
    ///
    /// # Errors
    /// Only errors of the database; a part may have been erased.
    pub async fn sweep_documents(self, limit: u32) -> Result<u64, StoreError> {
        let expired = query!("documents/expired");
        let found = self
            .workers
            .pool
            .call_for_all(expired, &[&i64::from(limit)])
            .await?;
        let (mut swept, mut failed) = (0, None);
        for row in &found {
            let caller = Caller::worker(TenantId::new(column::<String>(row, "tenant_id")?));
            match DocumentStore::new(self.store, &caller)
                .expire_documents(limit)
                .await
            {
                Ok(count) => swept += count,
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(swept),
        }
    }
}

fn document(row: &Row) -> Result<Document, StoreError> {
    let ttl: Option<f64> = column(row, "ttl_seconds")?;
    Ok(Document {
        name: name(row)?,
        json: column(row, "value")?,
        created: column(row, "created_at")?,
        updated: column(row, "updated_at")?,
        ttl: ttl.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        expires: column(row, "expires_at")?,
    })
}

fn owned(row: &Row) -> Result<OwnedDocument, StoreError> {
    Ok(OwnedDocument {
        owner: MemoryOwner {
            app: AppId::new(column::<String>(row, "app_id")?),
            user: UserId::new(column::<String>(row, "user_id")?),
        },
        document: document(row)?,
        text: column(row, "text")?,
    })
}

fn name(row: &Row) -> Result<DocumentName, StoreError> {
    Ok(DocumentName {
        namespace: column(row, "namespace")?,
        key: column(row, "key")?,
    })
}
