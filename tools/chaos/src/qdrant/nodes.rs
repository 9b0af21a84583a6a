//! Real Qdrant processes.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use memory_test_qdrant::RemoteCollections;
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use recollect_tests::GUARD;
use recollect_tests::send_signal;
use recollect_tests::{Skipped, eventually, free_addr, http_get, runs};

/// The alias of the collections.
const ALIAS: &str = "recollect";
/// How long a node may take to start, and to be equal to the others.
const START_LIMIT: Duration = Duration::from_secs(120);
/// The size of the file system that is filled, in MiB.
const DISK_MEBIBYTES: usize = 512;
/// Keeps a mount namespace with that file system until its standard input ends.
const MOUNT: &str = "mount -t tmpfs -o size=\"$1\" tmpfs \"$2\" && echo mounted && cat > /dev/null";

/// One or several nodes.
pub(super) struct Nodes {
    binary: PathBuf,
    nodes: Vec<Node>,
    disk: Option<Disk>,
    crashes: usize,
}

struct Node {
    dir: TempDir,
    http: String,
    grpc: String,
    peer: String,
    /// The shell that ends it with this process, and its process id.
    running: Option<(Child, i32)>,
}

/// A small file system of its own, in a mount namespace.
struct Disk {
    holder: Child,
    path: PathBuf,
}

impl Nodes {
    /// Starts a node, or a cluster; `on_disk`: on a file system that can be filled.
    pub(super) async fn start(binary: &Path, count: usize, on_disk: bool) -> Result<Self, Skipped> {
        let node = |_| Node {
            dir: tempfile::Builder::new()
                .prefix("recollect-qdrant-")
                .tempdir()
                .unwrap(),
            http: free_addr(),
            grpc: free_addr(),
            peer: free_addr(),
            running: None,
        };
        let nodes: Vec<Node> = (0..count).map(node).collect();
        let disk = match on_disk {
            true => Some(Disk::mount(nodes[0].dir.path())?),
            false => None,
        };
        let mut all = Self {
            binary: fs::canonicalize(binary)
                .map_err(|error| Skipped(format!("{}: {error}", binary.display())))?,
            nodes,
            disk,
            crashes: 0,
        };
        for place in 0..count {
            all.start_node(place);
            let http = all.nodes[place].http.clone();
            eventually("Qdrant is ready", START_LIMIT, async || ready(&http).await).await;
        }
        let peers = &all.nodes;
        eventually("the nodes know each other", START_LIMIT, async || {
            let mut known = Vec::new();
            for node in peers {
                let cluster = get(&node.http, "/cluster").await;
                known.push(cluster["peers"].as_object().map_or(1, |peers| peers.len()));
            }
            known.iter().all(|known| *known == count)
        })
        .await;
        Ok(all)
    }

    /// The lines of a configuration that choose it.
    pub(super) fn config(&self) -> String {
        let urls: Vec<String> = self.nodes.iter().map(Node::url).collect();
        let replicas = self.nodes.len().min(2);
        format!(
            "index.url = \"{}\"\nindex.alias = \"{ALIAS}\"\nindex.replicas = {replicas}",
            urls.join(",")
        )
    }

    pub(super) fn kill(&mut self, place: usize) {
        if let Some((mut shell, pid)) = self.nodes[place].running.take() {
            self.crashes += usize::from(!runs(pid));
            send_signal(pid, Signal::KILL);
            shell.stdin.take();
            shell.wait().unwrap();
        }
    }

    pub(super) fn start_node(&mut self, place: usize) {
        let first = self.nodes[0].peer.clone();
        let cluster = self.nodes.len() > 1;
        let mut command = recollect_tests::bare_command(Path::new("/bin/sh"));
        command.args(["-c", GUARD, "sh"]);
        if let Some(disk) = &self.disk {
            let holder = disk.holder.id().to_string();
            command.args(["nsenter", "-m", "-t", &holder]);
        }
        let node = &mut self.nodes[place];
        let storage = node.dir.path();
        command
            .arg(&self.binary)
            .arg("--disable-telemetry")
            .current_dir(storage)
            .env("QDRANT__SERVICE__HOST", "127.0.0.1")
            .env("QDRANT__SERVICE__HTTP_PORT", port(&node.http))
            .env("QDRANT__SERVICE__GRPC_PORT", port(&node.grpc))
            .env("QDRANT__STORAGE__STORAGE_PATH", storage.join("storage"))
            .env("QDRANT__STORAGE__SNAPSHOTS_PATH", storage.join("snapshots"));
        if cluster {
            command
                .env("QDRANT__CLUSTER__ENABLED", "true")
                .env("QDRANT__CLUSTER__P2P__PORT", port(&node.peer))
                .args(["--uri", &format!("http://{}", node.peer)]);
            if place > 0 {
                command.args(["--bootstrap", &format!("http://{first}")]);
            }
        }
        let mut shell = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(storage.with_extension("log")).unwrap())
            .spawn()
            .unwrap();
        let line = first_line(&mut shell);
        let line: Value = serde_json::from_str(&line).unwrap();
        let pid = line["pid"].as_i64().unwrap().try_into().unwrap();
        node.running = Some((shell, pid));
    }

    /// Deletes the collections.
    pub(super) async fn drop_collections(&self) {
        let collections = RemoteCollections::at(&self.nodes[0].url(), ALIAS).unwrap();
        collections.delete().await.unwrap();
    }

    /// Fills the disk to the last byte.
    pub(super) fn fill_disk(&self) {
        let disk = self.disk.as_ref().unwrap();
        let mut file = File::create(disk.filler()).unwrap();
        let some = vec![0; 64 * 1024];
        while file.write_all(&some).is_ok() {}
    }

    pub(super) fn free_disk(&self) {
        fs::remove_file(self.disk.as_ref().unwrap().filler()).unwrap();
    }

    /// Waits until every node answers and each replica is active and has as many points.
    pub(super) async fn recovered(&self) {
        let nodes = &self.nodes;
        eventually("every replica is equal", START_LIMIT, async || {
            let mut points = Vec::new();
            for node in nodes {
                if !ready(&node.http).await {
                    return false;
                }
                let all = get(&node.http, "/collections").await;
                let Some(collection) = all["collections"][0]["name"].as_str() else {
                    return false;
                };
                if nodes.len() == 1 {
                    continue;
                }
                let path = format!("/collections/{collection}/cluster");
                let cluster = get(&node.http, &path).await;
                let shards = ["local_shards", "remote_shards"].map(|of| cluster[of].as_array());
                for shard in shards.into_iter().flatten().flatten() {
                    if shard["state"] != "Active" {
                        return false;
                    }
                    points.extend(shard["points_count"].as_u64());
                }
            }
            points.iter().all(|count| *count == points[0])
        })
        .await;
    }

    /// Processes that ended although they were not killed.
    pub(super) fn crashes(&self) -> usize {
        let running = self.nodes.iter().flat_map(|node| &node.running);
        self.crashes + running.filter(|(_, pid)| !runs(*pid)).count()
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for place in 0..self.nodes.len() {
            self.kill(place);
            let log = self.nodes[place].dir.path().with_extension("log");
            let _ = fs::remove_file(log);
        }
    }
}

impl Node {
    fn url(&self) -> String {
        format!("http://{}", self.grpc)
    }
}

impl Disk {
    /// Mounts one at a path that only processes in its namespace see.
    fn mount(path: &Path) -> Result<Self, Skipped> {
        let size = format!("size={DISK_MEBIBYTES}m");
        let mut holder = Command::new("unshare")
            .args(["-m", "--propagation", "private", "sh", "-c", MOUNT, "sh"])
            .arg(size.trim_start_matches("size="))
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Skipped(format!("unshare: {error}")))?;
        let mounted = first_line(&mut holder);
        let disk = Self {
            holder,
            path: path.to_owned(),
        };
        match mounted.trim() {
            "mounted" => Ok(disk),
            _ => Err(Skipped(
                "a file system of its own needs root and `unshare -m`".to_owned(),
            )),
        }
    }

    /// The file that fills it, as seen from outside.
    fn filler(&self) -> PathBuf {
        let inside = self.path.strip_prefix("/").unwrap().join("filler");
        PathBuf::from(format!("/proc/{}/root", self.holder.id())).join(inside)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.holder.stdin.take();
        let _ = self.holder.wait();
    }
}

fn first_line(process: &mut Child) -> String {
    let mut line = String::new();
    let mut output = BufReader::new(process.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    line
}

fn port(addr: &str) -> &str {
    addr.rsplit(':').next().unwrap_or_default()
}

async fn ready(http: &str) -> bool {
    tokio::net::TcpStream::connect(http).await.is_ok() && http_get(http, "/readyz").await.0 == 200
}

/// The result in an answer of Qdrant.
async fn get(http: &str, path: &str) -> Value {
    let (_, body) = http_get(http, path).await;
    let mut answer: Value = serde_json::from_str(&body).unwrap_or_default();
    answer["result"].take()
}
