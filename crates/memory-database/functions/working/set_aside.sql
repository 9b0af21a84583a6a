-- Sets the messages before a depth aside (takes them out of the working memory), and
-- replaces its context, or keeps it where p_context is null. The caller has the thread's
-- lock.
CREATE OR REPLACE FUNCTION recollect.set_aside(
    p_tenant text, p_actor text, p_thread uuid, p_keep_from integer, p_context text, p_tokens integer, p_made_by text
)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_state record;
    v_end record;
    v_own boolean;
    v_done record;
BEGIN
    SELECT s.* INTO v_state FROM recollect.working_state(p_tenant, p_thread) s;
    v_own := p_context IS NOT NULL AND p_context <> v_state.context;
    SELECT m.branch, m.depth INTO v_end
    FROM unnest(v_state.branches, v_state.above, v_state.depths) AS part (branch, above, depth)
    JOIN recollect.messages m
        ON m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = part.branch
        AND m.depth > GREATEST(part.above, v_state.covered) AND m.depth <= LEAST(part.depth, p_keep_from - 1)
        AND m.deleted_at IS NULL
    ORDER BY m.depth DESC
    LIMIT 1;
    IF v_end.depth IS NULL AND NOT v_own THEN
        RETURN;
    END IF;
    SELECT c.* INTO v_done
    FROM recollect.commit_summary(
        p_tenant, p_actor, p_thread, v_state.generation,
        COALESCE(v_end.branch, v_state.tip_branch), v_state.covered, COALESCE(v_end.depth, v_state.covered),
        CASE WHEN v_own THEN p_context ELSE v_state.context END,
        CASE WHEN v_own THEN p_tokens ELSE v_state.context_tokens END,
        p_made_by, v_state.tip, v_own, v_end.depth IS NOT NULL) AS c;
    IF v_done.status <> 'ok' THEN
        RAISE EXCEPTION 'messages could not be set aside: %', v_done.status;
    END IF;
END;
$$;
