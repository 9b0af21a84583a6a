-- The summary that holds on a path: of the summaries whose end is on it the one that reaches
-- deepest, and of these the newest. Null without one.
CREATE OR REPLACE FUNCTION recollect.summary_on_path(
    p_tenant text, p_thread uuid, p_branches integer[], p_depths integer[]
)
RETURNS recollect.distillates
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_summary recollect.distillates;
BEGIN
    SELECT d.* INTO v_summary
    FROM recollect.distillates d
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary'
        AND recollect.is_on_path(p_branches, p_depths, d.branch, d.to_depth)
    ORDER BY d.to_depth DESC, d.number DESC
    LIMIT 1;
    RETURN v_summary;
END;
$$;
