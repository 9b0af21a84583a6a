use super::*;

#[tokio::test]
async fn a_full_queue_is_a_timeout() {
    // Without a thread that reads it.
    let (commands, queue) = mpsc::channel(QUEUE_SIZE);
    while commands
        .try_send(Command::Stop(oneshot::channel().0))
        .is_ok()
    {}
    assert_eq!(queue.len(), QUEUE_SIZE);
    let index = EdgeIndex {
        schema: IndexSchema::new("recollect", None),
        commands,
        write_timeout: Duration::from_millis(10),
        shard: watch::channel(None).1,
        cache: Arc::default(),
        is_rebuilding: AtomicBool::new(false),
        directory: Arc::new(Directory::new(std::path::PathBuf::new())),
        discarded: AtomicBool::new(false),
        lock: Arc::new(tempfile::tempfile().unwrap()),
    };
    let error = index.mark_rebuilding(true).await.unwrap_err();
    assert!(
        matches!(error, IndexError::Timeout { .. }) && error.retryable(),
        "{error}"
    );
    assert!(!index.is_rebuilding.load(Ordering::Relaxed));
    drop(queue);
    let error = index.mark_rebuilding(true).await.unwrap_err();
    assert!(matches!(error, IndexError::Unavailable { .. }), "{error}");
}
