use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use tokio_postgres::Column;

use crate::world::World;

#[tokio::test]
async fn every_query_prepares_against_the_migrated_schema() {
    let world = World::new().await;
    let owner = world.owner().await;
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let crates = fs::read_dir(crates).unwrap();
    let queries = crates.map(|one| one.unwrap().path().join("queries"));
    let queries = queries.filter(|one| one.is_dir());
    let files: Vec<PathBuf> = queries.flat_map(|one| sql_files(&one)).collect();
    assert!(files.len() > 230, "{}", files.len());
    for file in files {
        let sql = fs::read_to_string(&file).unwrap();
        if file.to_str().unwrap().ends_with(".pgbench.setup.sql") {
            owner
                .batch_execute(&sql)
                .await
                .unwrap_or_else(|error| panic!("{file:?}: {error:?}"));
            continue;
        }
        // A variable of pgbench.
        let sql = sql.replace(":client_id", "7");
        let statement = owner
            .prepare(&sql)
            .await
            .unwrap_or_else(|error| panic!("{file:?}: {error:?}"));
        // Columns are read by name; the only column of a row needs none.
        let columns: Vec<&str> = statement.columns().iter().map(Column::name).collect();
        let distinct: BTreeSet<&str> = columns.iter().copied().collect();
        assert_eq!(distinct.len(), columns.len(), "{file:?}: {columns:?}");
        let unnamed = ["?column?", "case", "coalesce", "count", "exists", "sum"];
        assert!(
            columns.len() < 2 || unnamed.iter().all(|name| !distinct.contains(name)),
            "{file:?}: {columns:?}"
        );
    }
}

#[tokio::test]
async fn the_script_for_pgbench_appends() {
    let world = World::new().await;
    let owner = world.owner().await;
    owner
        .batch_execute(include_str!(
            "../../../memory-conversations/queries/messages/append.pgbench.setup.sql"
        ))
        .await
        .unwrap();
    let append = include_str!("../../../memory-conversations/queries/messages/append.pgbench.sql")
        .replace(":client_id", "7");
    let service = world.role("recollect_service").await;
    for seq in 1..=2_i64 {
        let row = service.query_one(append.as_str(), &[]).await.unwrap();
        assert_eq!((row.get("status"), row.get("first_seq")), ("ok", seq));
    }
}

/// The SQL files under a directory, in order.
pub fn sql_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sql_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "sql") {
            files.push(path);
        }
    }
    files.sort();
    files
}
