-- Whether an active reflection on the path to a place condenses some of p_reflects, and
-- is not one of them.
CREATE OR REPLACE FUNCTION recollect.is_reflected(
    p_tenant text, p_thread uuid, p_branch integer, p_to integer, p_reflects bigint[]
)
RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM recollect.path_arrays(p_tenant, p_thread, p_branch, p_to) p
        JOIN recollect.distillates d
            ON d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation'
            AND d.active AND d.reflects && p_reflects AND NOT d.number = ANY (p_reflects)
            AND recollect.is_on_path(p.branches, p.depths, d.branch, d.to_depth));
END;
$$;
