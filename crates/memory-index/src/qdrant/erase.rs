//! Erases and counts points in the collections of all models.

use qdrant_client::qdrant::UpdateBatchPoints;

use super::connection::QdrantIndex;
use super::wire::deletion;
use crate::error::IndexError;
use crate::filter::Selection;
use crate::schema::IndexSchema;

impl QdrantIndex {
    /// Erases the selected points. Qdrant keeps the bytes of deleted points until its
    /// optimizer rewrites their segments.
    pub(super) async fn erase_everywhere(&self, selection: &Selection) -> Result<(), IndexError> {
        for collection_name in self.collections().await? {
            let request = UpdateBatchPoints {
                collection_name,
                wait: Some(true),
                operations: vec![deletion(selection)],
                ordering: None,
                timeout: None,
            };
            self.ask("erase points", self.config.write_timeout, |client| {
                let request = request.clone();
                async move { client.update_points_batch(request).await }
            })
            .await?;
        }
        Ok(())
    }

    pub(super) async fn count_everywhere(&self, selection: &Selection) -> Result<u64, IndexError> {
        let mut points = 0;
        for collection in self.collections().await? {
            points += self
                .count_in(&collection, selection, true, self.config.search_timeout)
                .await?;
        }
        Ok(points)
    }

    /// The collections of the alias: one for each model and text recipe.
    async fn collections(&self) -> Result<Vec<String>, IndexError> {
        let listed = self
            .ask(
                "list collections",
                self.config.write_timeout,
                |client| async move { client.list_collections().await },
            )
            .await?;
        let names = listed.collections.into_iter().map(|found| found.name);
        let is_ours = |name: &String| IndexSchema::is_of_alias(&self.config.alias, name);
        Ok(names.filter(is_ours).collect())
    }
}
