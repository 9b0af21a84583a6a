SELECT on_path, thread_id, ordinal,
    message_id, external_id, parent_id, seq, branch, depth, role, name, parts, metadata, tokens, said_at
FROM recollect.hydrate($1, $2, $3, $4, $5, $6, $7, $8)
