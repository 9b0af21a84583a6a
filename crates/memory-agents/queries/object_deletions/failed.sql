UPDATE recollect.object_deletions d
SET last_error = $3
WHERE d.tenant_id = $1 AND d.id = $2
