-- Reads the newest messages of a working memory, the newest first, to compare a caller's
-- messages with them.
CREATE OR REPLACE FUNCTION recollect.working_tail(p_tenant text, p_thread uuid, p_limit integer)
RETURNS TABLE (
    message_id uuid, depth integer, role text, name text, said_by text, digest bytea, said_at timestamptz
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_state record;
BEGIN
    SELECT s.branches, s.above, s.depths, s.covered INTO v_state
    FROM recollect.working_state(p_tenant, p_thread) s;
    RETURN QUERY
    SELECT m.message_id, m.depth, m.role, m.name, m.said_by, sha256(convert_to(m.parts::text, 'UTF8')), m.said_at
    FROM unnest(v_state.branches, v_state.above, v_state.depths) AS part (branch, above, depth)
    JOIN recollect.messages m
        ON m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = part.branch
        AND m.depth > GREATEST(part.above, v_state.covered) AND m.depth <= part.depth
        AND m.deleted_at IS NULL
    ORDER BY m.depth DESC
    LIMIT p_limit;
END;
$$;
