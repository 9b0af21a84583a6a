//! Looks into a Qdrant, and deletes what is in it.

use qdrant_client::qdrant::CountPointsBuilder;
use qdrant_client::{Qdrant, QdrantError};

/// The collections and aliases of a Qdrant whose names begin with a prefix.
pub struct RemoteCollections {
    client: Qdrant,
    prefix: String,
}

impl RemoteCollections {
    /// Those of the Qdrant at an address. Connects on first use.
    ///
    /// # Errors
    /// The address is invalid.
    pub fn at(url: &str, prefix: impl Into<String>) -> Result<Self, QdrantError> {
        Ok(Self {
            client: Qdrant::from_url(url).skip_compatibility_check().build()?,
            prefix: prefix.into(),
        })
    }

    /// The collections' names, sorted.
    ///
    /// # Errors
    /// Those of Qdrant.
    pub async fn names(&self) -> Result<Vec<String>, QdrantError> {
        let all = self.client.list_collections().await?.collections;
        let names = all.into_iter().map(|found| found.name);
        let mut names: Vec<String> = names
            .filter(|name| name.starts_with(&self.prefix))
            .collect();
        names.sort();
        Ok(names)
    }

    /// The aliases with their collections.
    ///
    /// # Errors
    /// Those of Qdrant.
    pub async fn aliases(&self) -> Result<Vec<(String, String)>, QdrantError> {
        let all = self.client.list_aliases().await?.aliases;
        let pairs = all
            .into_iter()
            .map(|found| (found.alias_name, found.collection_name));
        Ok(pairs
            .filter(|(alias, _)| alias.starts_with(&self.prefix))
            .collect())
    }

    /// The number of points of a collection, its state point included.
    ///
    /// # Errors
    /// Those of Qdrant.
    pub async fn point_count(&self, collection: &str) -> Result<u64, QdrantError> {
        let request = CountPointsBuilder::new(collection).exact(true);
        let counted = self.client.count(request).await?.result;
        Ok(counted.map_or(0, |counted| counted.count))
    }

    /// Deletes the collections with their aliases.
    ///
    /// # Errors
    /// Those of Qdrant.
    pub async fn delete(&self) -> Result<(), QdrantError> {
        for name in self.names().await? {
            self.client.delete_collection(name).await?;
        }
        Ok(())
    }
}
