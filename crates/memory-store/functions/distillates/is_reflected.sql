-- Whether an active reflection, on the path to a place, stands already for some
-- of what another one is to stand for, and is not itself among that.
CREATE OR REPLACE FUNCTION recollect.is_reflected(
    p_tenant text, p_thread uuid, p_branch integer, p_to integer, p_reflects bigint[]
)
RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation'
            AND d.active AND d.reflects && p_reflects AND NOT d.number = ANY (p_reflects)
            AND EXISTS (
                SELECT FROM recollect.path(p_tenant, p_thread, p_branch, p_to) way
                WHERE way.branch = d.branch AND way.depth >= d.to_depth));
END;
$$;
