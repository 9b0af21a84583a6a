SELECT place, beyond, namespace, key, value, ttl_seconds, expires_at, created_at, updated_at
FROM recollect.get_documents($1, $2, $3, $4, $5, $6)
