SELECT c.digest, c.object_key
FROM recollect.contents c
WHERE c.tenant_id = $1 AND c.digest = ANY ($2::bytea[]) AND c.stored
