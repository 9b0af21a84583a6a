SELECT l.scanned, l.last_time, l.last_id, l.found_count,
    l.thread_id, l.message_id, l.external_id, l.parent_id, l.seq, l.branch, l.depth, l.role, l.name,
    l.parts, l.metadata, l.tokens, l.said_at
FROM recollect.list_messages($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) AS l
