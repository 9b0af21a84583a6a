UPDATE recollect.contents
SET stored = true
WHERE tenant_id = $1 AND object_key = ANY ($2::text[])
