-- One step of the walk from a place to the root: the branch that p_branch left, 0 at a
-- root; the depth that it forks at; and the depth down to which the parent belongs to
-- the path. In SQL, so that Postgres inlines it.
CREATE OR REPLACE FUNCTION recollect.parent_of_branch(
    p_tenant text, p_thread uuid, p_branch integer, p_depth integer
)
RETURNS TABLE (branch integer, fork_depth integer, depth integer)
LANGUAGE sql STABLE AS $$
    SELECT COALESCE(b.parent_branch, 0), b.fork_depth, LEAST(b.fork_depth, p_depth)
    FROM recollect.branches b
    WHERE b.tenant_id = p_tenant AND b.thread_id = p_thread AND b.branch = p_branch
$$;
