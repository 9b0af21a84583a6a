SELECT place, kind, thread_id, session_key, namespace, checkpoint_id, parent_id, metadata, created_at, more,
    task_id, index, task_path, channel, version, type, data
FROM recollect.read_checkpoints($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
