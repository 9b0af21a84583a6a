//! Inserts derived text into a database as the workers do.

use recollect_tests::{Client, Cluster, DataDir, Key, Options, Server, recollect_at};

/// A server whose database the test can write to.
pub struct World {
    pub cluster: Cluster,
    pub server: Server,
    pub client: Client,
    pub dir: DataDir,
}

impl World {
    pub async fn new() -> Self {
        let (cluster, url) = Cluster::migrated().await;
        let dir = DataDir::new();
        let options = Options::serve(&url, &["embedding.kind = \"none\""]);
        let server = Server::start(&dir, &options.index(&dir, "index"));
        let client = server.client(Key::Acme).await;
        Self {
            cluster,
            server,
            client,
            dir,
        }
    }

    /// Runs a function of the store as the service would; its status.
    pub async fn derive(&self, function: &str, thread_id: &str, rest: &str) -> String {
        let admin = self.cluster.superuser().await;
        let generation = match function {
            "commit_summary" => "summary_generation",
            _ => "observation_generation",
        };
        let sql = format!(
            "SELECT status FROM recollect.{function}('acme', 'worker', '{thread_id}',
            (SELECT {generation} FROM recollect.threads WHERE thread_id = '{thread_id}'), {rest})"
        );
        let service = "SET ROLE recollect_service; SET recollect.tenant = 'acme'";
        admin.batch_execute(service).await.unwrap();
        let status = admin.query_one(&sql, &[]).await.unwrap().get(0);
        admin.batch_execute("RESET ROLE").await.unwrap();
        status
    }

    /// A summary on branch 1.
    pub async fn summarize(&self, thread_id: &str, after: i32, to: i32, based_on: &str) {
        self.summarize_as(thread_id, (after, to), based_on, "a summary")
            .await;
    }

    /// A summary with this text.
    pub async fn summarize_as(
        &self,
        thread_id: &str,
        (after, to): (i32, i32),
        based_on: &str,
        text: &str,
    ) {
        let text = quoted(text);
        let rest = format!("1, {after}, {to}, {text}, 5, 'extractive', {based_on}, false, false");
        assert_eq!(self.derive("commit_summary", thread_id, &rest).await, "ok");
    }

    /// An observation on branch 1.
    pub async fn observe(&self, thread_id: &str, after: i32, to: i32, text: &str, active: bool) {
        let text = quoted(text);
        let rest = format!("1, {after}, {to}, {text}, 3, 'extractive', {active}");
        let status = self.derive("commit_observation", thread_id, &rest).await;
        assert_eq!(status, "ok");
    }

    pub fn cli(&self, args: &[&str]) -> recollect_tests::Finished {
        recollect_at(&self.server.ready().addr, Key::Acme, args)
    }
}

/// A text as SQL.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Four turns; the ids of their messages.
pub async fn four_turns(client: &Client, thread_id: &str) -> Vec<String> {
    let mut ids = Vec::new();
    for number in 0..4 {
        let question = format!("What is {number} and {number}?");
        let stored = client.append_turn(thread_id, &question, "A number.").await;
        ids.extend(stored.messages.into_iter().map(|one| one.message_id));
    }
    ids
}
