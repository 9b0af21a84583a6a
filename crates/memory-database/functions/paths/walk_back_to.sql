-- recollect.path as far back as a branch, p_lowest: for each branch on the way, the depth
-- down to which it belongs to the path. A branch has a higher number than the one that it
-- forks from. In SQL, so that Postgres inlines it into a query over many threads; OFFSET 0
-- makes each step a look-up in the index.
CREATE OR REPLACE FUNCTION recollect.path_back_to(
    p_tenant text, p_thread uuid, p_branch integer, p_depth integer, p_lowest integer
)
RETURNS TABLE (branch integer, depth integer)
LANGUAGE sql STABLE AS $$
    WITH RECURSIVE walk (branch, depth) AS (
        SELECT p_branch, p_depth
        UNION ALL
        SELECT up.branch, up.depth
        FROM walk
        CROSS JOIN LATERAL (
            SELECT p.branch, p.depth
            FROM recollect.parent_of_branch(p_tenant, p_thread, walk.branch, walk.depth) p
            OFFSET 0
        ) AS up
        WHERE walk.branch > p_lowest
    )
    SELECT walk.branch, walk.depth FROM walk
$$;
