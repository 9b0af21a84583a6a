UPDATE recollect.contents
SET stored = true
WHERE tenant_id = $1 AND digest = ANY ($2::bytea[]) AND object_key = ANY ($3::text[])
