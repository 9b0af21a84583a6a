SELECT t.head_branch, t.head_depth,
    -- The requested head; null: no such message.
    m.branch AS named_branch, m.depth AS named_depth,
    t.last_seq, t.message_count
FROM recollect.threads t
LEFT JOIN recollect.messages m
    ON m.tenant_id = $1 AND m.message_id = recollect.named_message($1, $2, $3) AND m.thread_id = t.thread_id
WHERE t.tenant_id = $1 AND t.thread_id = $2
    AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
