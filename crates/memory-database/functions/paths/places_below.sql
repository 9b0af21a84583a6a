-- The places up to p_steps below a place, on its branch and on branches that fork off. Not each
-- has a message. In SQL, so that Postgres inlines it: MATERIALIZED in the caller keeps the
-- walk out of its joins.
CREATE OR REPLACE FUNCTION recollect.places_below(
    p_tenant text, p_thread uuid, p_branch integer, p_depth integer, p_steps integer
)
RETURNS TABLE (branch integer, depth integer)
LANGUAGE sql STABLE AS $$
    WITH RECURSIVE walk (branch, depth) AS (
        SELECT p_branch, p_depth
        UNION ALL
        SELECT child.branch, walk.depth + 1
        FROM walk
        CROSS JOIN LATERAL (
            SELECT walk.branch
            UNION ALL
            SELECT b.branch FROM recollect.branches b
            WHERE b.tenant_id = p_tenant AND b.thread_id = p_thread
                AND b.parent_branch = walk.branch AND b.fork_depth = walk.depth
        ) AS child (branch)
        WHERE walk.depth < p_depth + p_steps
    )
    SELECT walk.branch, walk.depth FROM walk WHERE walk.depth > p_depth
$$;
