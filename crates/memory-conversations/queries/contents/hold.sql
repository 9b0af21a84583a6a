-- Records references to contents before the rows that refer to them are written. Contents with a
-- key are created where they are missing; the others, which are only named, must be stored. Returns
-- the existing ones, with the keys of their objects, and records the writes of the ones that are
-- not stored. The rows of contents are locked in the order of their digests, as
-- functions/contents/release.sql locks them: named ones before the others.
WITH given AS MATERIALIZED (
    SELECT DISTINCT ON (g.digest) g.digest, g.object_key, g.size_bytes
    FROM unnest($2::bytea[], $3::text[], $4::bigint[]) AS g (digest, object_key, size_bytes)
    ORDER BY g.digest, g.object_key NULLS LAST
),
named AS MATERIALIZED (
    SELECT c.digest, c.object_key, c.stored
    FROM recollect.contents c
    WHERE c.tenant_id = $1::text AND c.stored
        AND c.digest IN (SELECT g.digest FROM given g WHERE g.object_key IS NULL)
    ORDER BY c.digest
    FOR UPDATE OF c
),
made AS (
    INSERT INTO recollect.contents AS c (tenant_id, digest, object_key, size_bytes)
    SELECT $1::text, g.digest, g.object_key, g.size_bytes
    FROM given g
    -- The count makes the locks above come first.
    WHERE g.object_key IS NOT NULL AND (SELECT count(*) FROM named) >= 0
    ORDER BY g.digest
    ON CONFLICT (tenant_id, digest) DO UPDATE SET size_bytes = c.size_bytes
    RETURNING c.digest, c.object_key, c.stored
),
begun AS (
    INSERT INTO recollect.object_writes (tenant_id, object_key, write_id)
    SELECT $1::text, m.object_key, $6::uuid FROM made m WHERE NOT m.stored
),
found AS (
    SELECT * FROM made UNION ALL SELECT * FROM named
),
held AS (
    INSERT INTO recollect.content_holders AS o (tenant_id, holder, digest, held_by)
    SELECT DISTINCT $1::text, h.holder, h.digest, $6::uuid
    FROM unnest($5::text[], $2::bytea[]) AS h (holder, digest)
    WHERE h.digest IN (SELECT f.digest FROM found f)
    ON CONFLICT (tenant_id, holder, digest) DO UPDATE
    -- Another attempt holds it, too.
    SET held_at = clock_timestamp(), held_by = NULL WHERE NOT o.settled
)
SELECT f.digest, f.object_key, f.stored FROM found f
