DELETE FROM recollect.object_deletions d
WHERE d.tenant_id = $1 AND d.id = $2
