SELECT thread_id, app_id, user_id, session_key, title, metadata, last_seq, head_id, message_count,
    created_at, updated_at, expires_at, policy, version, ephemeral, ordinal, app_policy, any_memories
FROM recollect.thread_policies($1, $2, $3)
