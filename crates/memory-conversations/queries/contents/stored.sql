WITH ended AS (
    DELETE FROM recollect.object_writes
    WHERE tenant_id = $1 AND object_key = ANY ($3::text[]) AND write_id = $4
)
UPDATE recollect.contents
SET stored = true
WHERE tenant_id = $1 AND digest = ANY ($2::bytea[]) AND object_key = ANY ($3::text[])
