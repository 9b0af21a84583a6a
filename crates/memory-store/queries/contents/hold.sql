-- Refers to contents, before what refers to them is written. Contents with a key are made
-- where they are missing; the others, which are only named, have to be stored. Returns
-- those that are there, with the keys of their objects.
WITH given AS MATERIALIZED (
    SELECT DISTINCT ON (g.digest) g.digest, g.object_key, g.size_bytes
    FROM unnest($2::bytea[], $3::text[], $4::bigint[]) AS g (digest, object_key, size_bytes)
    ORDER BY g.digest, g.object_key NULLS LAST
),
made AS (
    INSERT INTO recollect.contents (tenant_id, digest, object_key, size_bytes)
    SELECT $1::text, g.digest, g.object_key, g.size_bytes
    FROM given g
    WHERE g.object_key IS NOT NULL
    ORDER BY g.digest
    ON CONFLICT (tenant_id, digest) DO UPDATE SET held_at = clock_timestamp(), settled = false
    RETURNING digest, object_key, stored
),
named AS (
    UPDATE recollect.contents c
    SET held_at = clock_timestamp(), settled = false
    FROM given g
    WHERE g.object_key IS NULL AND c.tenant_id = $1::text AND c.digest = g.digest AND c.stored
    RETURNING c.digest, c.object_key, c.stored
),
found AS (
    SELECT * FROM made UNION ALL SELECT * FROM named
),
held AS (
    INSERT INTO recollect.content_holders (tenant_id, holder, digest)
    SELECT DISTINCT $1::text, h.holder, h.digest
    FROM unnest($5::text[], $2::bytea[]) AS h (holder, digest)
    WHERE h.digest IN (SELECT f.digest FROM found f)
    ON CONFLICT DO NOTHING
)
SELECT f.digest, f.object_key, f.stored FROM found f
