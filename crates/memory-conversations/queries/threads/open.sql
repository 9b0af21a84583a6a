SELECT o.created,
    (o.thread).thread_id, (o.thread).app_id, (o.thread).user_id, (o.thread).session_key, (o.thread).title,
    (o.thread).metadata, (o.thread).last_seq, (o.thread).head_id, (o.thread).message_count,
    (o.thread).created_at, (o.thread).updated_at, (o.thread).expires_at,
    (o.thread).policy, (o.thread).version, (o.thread).idle_ttl IS NOT NULL AS ephemeral, o.status
FROM recollect.open_thread($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) o
