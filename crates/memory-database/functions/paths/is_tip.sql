-- Whether a place is the end of its branch, so that the next message may extend it: no
-- readable message is deeper on the branch, and no branch forks deeper. (A deleted message
-- may be deeper.)
CREATE OR REPLACE FUNCTION recollect.is_tip(p_tenant text, p_thread uuid, p_branch integer, p_depth integer)
RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT NOT EXISTS (
            SELECT FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread
                AND m.branch = p_branch AND m.depth > p_depth AND m.deleted_at IS NULL)
        AND NOT EXISTS (
            SELECT FROM recollect.branches b
            WHERE b.tenant_id = p_tenant AND b.thread_id = p_thread
                AND b.parent_branch = p_branch AND b.fork_depth > p_depth)
$$;
