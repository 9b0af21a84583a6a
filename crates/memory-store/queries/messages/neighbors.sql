SELECT anchor_id, distance, ordinal, thread_id,
    message_id, external_id, parent_id, seq, branch, depth, role, name, parts, metadata, tokens, said_at
FROM recollect.neighbors($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
