SELECT l.scanned, l.last_time, l.last_ordinal,
    (l.thread).thread_id, (l.thread).app_id, (l.thread).user_id, (l.thread).session_key, (l.thread).title,
    (l.thread).metadata, (l.thread).last_seq, (l.thread).head_id, (l.thread).message_count,
    (l.thread).created_at, (l.thread).updated_at, (l.thread).expires_at,
    (l.thread).policy, (l.thread).version, (l.thread).idle_ttl IS NOT NULL AS ephemeral, (l.thread).ordinal
FROM recollect.list_threads($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS l
