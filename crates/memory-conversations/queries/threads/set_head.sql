SELECT h.status,
    (h.thread).thread_id, (h.thread).app_id, (h.thread).user_id, (h.thread).session_key, (h.thread).title,
    (h.thread).metadata, (h.thread).last_seq, (h.thread).head_id, (h.thread).message_count,
    (h.thread).created_at, (h.thread).updated_at, (h.thread).expires_at,
    (h.thread).policy, (h.thread).version, (h.thread).idle_ttl IS NOT NULL AS ephemeral
FROM recollect.set_head($1, $2, $3, $4, $5, $6) h
