-- Readable messages and up to p_steps before each, along its parents, with the distance to
-- the nearest of them. A deleted one before them is included, because the path leads through
-- it. In SQL, so that Postgres inlines it: MATERIALIZED in the caller keeps the walk out of
-- its joins.
CREATE OR REPLACE FUNCTION recollect.messages_before(p_tenant text, p_messages uuid[], p_steps integer)
RETURNS TABLE (message_id uuid, distance integer)
LANGUAGE sql STABLE AS $$
    WITH RECURSIVE walk AS (
        SELECT m.message_id, m.parent_id, 0 AS distance
        FROM unnest(p_messages) AS requested (id)
        CROSS JOIN LATERAL recollect.message_by_id(p_tenant, requested.id) AS m
        WHERE m.deleted_at IS NULL
        UNION
        SELECT m.message_id, m.parent_id, walk.distance + 1
        FROM walk
        CROSS JOIN LATERAL recollect.message_by_id(p_tenant, walk.parent_id) AS m
        WHERE walk.distance < p_steps
    )
    SELECT walk.message_id, min(walk.distance)
    FROM walk
    GROUP BY walk.message_id
$$;
