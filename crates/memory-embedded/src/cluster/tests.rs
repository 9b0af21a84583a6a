use super::*;

async fn ask(cluster: &Cluster, sql: &str) -> String {
    let (client, connection) = tokio_postgres::connect(cluster.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client.query_one(sql, &[]).await.unwrap().get(0)
}

/// A data directory as `mktemp -d` makes it: only its owner may enter it.
fn private_dir() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    dir
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_made_below_a_private_directory_and_keeps_its_data() {
    let dir = private_dir();
    let data = DataDir::lock(&dir.path().join("data")).unwrap();
    let mut cluster = Cluster::start(&data, None, |_| {}).await.unwrap();
    cluster.settle().await.unwrap();
    assert!(!data.initializing().exists());
    assert!(cluster.times().initdb.is_some());
    assert_eq!(ask(&cluster, "SHOW fsync").await, "on");
    assert_eq!(ask(&cluster, "SHOW listen_addresses").await, "");
    assert_eq!(
        ask(&cluster, "SELECT current_user || ' ' || current_database()").await,
        "recollect recollect"
    );
    ask(&cluster, "SELECT set_config('a.b', 'c', false)").await;
    let (client, connection) = tokio_postgres::connect(cluster.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client
        .batch_execute("CREATE TABLE kept AS SELECT 'still here' AS word")
        .await
        .unwrap();
    assert!(cluster.stop().await);

    let cluster = Cluster::start(&data, None, |_| {}).await.unwrap();
    assert_eq!(cluster.times().initdb, None);
    assert_eq!(ask(&cluster, "SELECT word FROM kept").await, "still here");
    assert!(cluster.stop().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_postgres_left_behind_is_stopped_and_its_commits_are_there() {
    let dir = private_dir();
    let data = DataDir::lock(dir.path()).unwrap();
    let mut first = Cluster::start(&data, None, |_| {}).await.unwrap();
    first.settle().await.unwrap();
    let (client, connection) = tokio_postgres::connect(first.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client
        .batch_execute("CREATE TABLE kept AS SELECT 'still here' AS word")
        .await
        .unwrap();
    let orphan = first.pid();
    first.keeper.abort();
    std::mem::forget(first);

    let second = Cluster::start(&data, None, |_| {}).await.unwrap();
    assert_eq!(second.stopped_orphan(), Some(orphan));
    assert_eq!(ask(&second, "SELECT word FROM kept").await, "still here");

    assert!(second.stop().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_postgres_is_started_again_and_its_commits_are_there() {
    let dir = private_dir();
    let data = DataDir::lock(dir.path()).unwrap();
    let mut cluster = Cluster::start(&data, None, |_| {}).await.unwrap();
    cluster.settle().await.unwrap();
    let (client, connection) = tokio_postgres::connect(cluster.url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client
        .batch_execute("CREATE TABLE kept AS SELECT 'still here' AS word")
        .await
        .unwrap();
    let killed = cluster.pid();
    kill_process(Pid::from_raw(killed).unwrap(), Signal::KILL).unwrap();

    let start = Instant::now();
    while cluster.pid() == killed || tokio_postgres::connect(cluster.url(), NoTls).await.is_err() {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "it is not started again"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(ask(&cluster, "SELECT word FROM kept").await, "still here");
    assert!(cluster.stop().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_never_reached_the_disk_is_recreated() {
    let dir = private_dir();
    let data = DataDir::lock(dir.path()).unwrap();
    std::fs::write(data.initializing(), "").unwrap();
    std::fs::create_dir(data.postgres()).unwrap();
    std::fs::write(data.postgres().join("PG_VERSION"), "15\n").unwrap();
    let mut cluster = Cluster::start(&data, None, |_| {}).await.unwrap();
    cluster.settle().await.unwrap();
    assert!(cluster.stop().await);
    assert!(!data.initializing().exists());
}

#[tokio::test]
async fn a_directory_with_something_else_in_it_is_left_alone() {
    let dir = private_dir();
    let data = DataDir::lock(dir.path()).unwrap();
    std::fs::create_dir(data.postgres()).unwrap();
    std::fs::write(data.postgres().join("letter.txt"), "dear reader").unwrap();
    let error = Cluster::start(&data, None, |_| {}).await.unwrap_err();
    assert!(matches!(error, EmbeddedError::Unsafe { .. }), "{error}");
    assert!(data.postgres().join("letter.txt").exists());
}
/// A Postgres that is starting up, as its clients see it.
async fn start_up(socket: tokio::net::UnixListener) {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let fields = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0";
    let length = u32::try_from(fields.len() + 4).unwrap();
    let refusal = [b"E".as_slice(), &length.to_be_bytes(), fields].concat();
    loop {
        let (mut client, _) = socket.accept().await.unwrap();
        let Ok(length) = client.read_u32().await else {
            continue;
        };
        let mut hello = vec![0; length as usize - 4];
        if client.read_exact(&mut hello).await.is_ok() {
            let _ = client.write_all(&refusal).await;
        }
    }
}

#[tokio::test]
async fn a_recovery_is_awaited_for_as_long_as_it_takes_and_reported() {
    const LIMIT: Duration = Duration::from_millis(500);
    let dir = private_dir();
    let data = DataDir::lock(dir.path()).unwrap();
    let account = Account::choose().unwrap();
    let launcher = Launcher {
        binaries: Binaries::find(None, None).unwrap(),
        home: data.postgres(),
        socket_dir: SocketDir::create(data.path(), &account).unwrap(),
        log: data.postgres_log(),
        tail: LogTail::default(),
        current: Mutex::default(),
        account,
    };
    let (exit, exited) = watch::channel(None);
    // No process has this id.
    let pid = Pid::from_raw(i32::MAX).unwrap();
    let process = Process { pid, exited };
    let reports = Mutex::new(Vec::new());
    let report = |what: &str| reports.lock().unwrap().push(what.to_owned());

    let socket = launcher.socket_dir.path().join(".s.PGSQL.5432");
    let starting = tokio::spawn(start_up(tokio::net::UnixListener::bind(socket).unwrap()));
    let wait = tokio::time::timeout(6 * LIMIT, launcher.ready(&process, LIMIT, report));
    assert!(wait.await.is_err(), "it is not awaited any more");
    let reported = reports.lock().unwrap().clone();
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(reported[0].contains("recovers"), "{reported:?}");

    // One that ends, and one that does not answer.
    exit.send(Some("exit status: 1".to_owned())).unwrap();
    let exited = launcher.ready(&process, LIMIT, |_| {}).await.unwrap_err();
    assert!(matches!(exited, EmbeddedError::Exited { .. }), "{exited}");
    starting.abort();
    assert!(starting.await.unwrap_err().is_cancelled());
    exit.send(None).unwrap();
    let silent = launcher.ready(&process, LIMIT, |_| {}).await.unwrap_err();
    assert!(matches!(silent, EmbeddedError::NotReady { .. }), "{silent}");
}
