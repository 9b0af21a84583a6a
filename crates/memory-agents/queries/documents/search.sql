SELECT namespace, key, value, ttl_seconds, expires_at, created_at, updated_at, score, more
FROM recollect.search_documents($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
