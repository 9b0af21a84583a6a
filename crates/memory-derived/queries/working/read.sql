SELECT r.message,
    r.status, r.context, r.context_tokens, r.summarized_count, r.message_count, r.message_tokens,
    r.model, r.context_window, r.data, r.expires_at, r.expired, r.rebuilt, r.anything, r.etag, r.updated_at,
    r.covered, r.head_depth
FROM recollect.read_working_memory($1, $2, $3, $4) r
