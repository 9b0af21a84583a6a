-- Ends memories of a user that another memory supersedes, and returns them. Each was true until
-- that one became true; if that was before its own time, it was never true. Without such a memory
-- it was true until now. Memories that began to hold after p_since are newer, and stay.
CREATE OR REPLACE FUNCTION recollect.end_memories(
    p_tenant text, p_app text, p_user text, p_memories uuid[], p_by uuid, p_pinned_too boolean,
    p_since timestamptz DEFAULT 'infinity',
    -- Until when they were believed.
    p_ended_at timestamptz DEFAULT clock_timestamp()
)
RETURNS SETOF recollect.memories
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    UPDATE recollect.memories m
    SET valid_until = GREATEST(m.valid_from, COALESCE(
            (SELECT o.valid_from FROM recollect.memories o WHERE o.tenant_id = p_tenant AND o.memory_id = p_by),
            clock_timestamp())),
        ended_at = p_ended_at, superseded_by = p_by, version = version + 1, updated_at = clock_timestamp()
    WHERE m.tenant_id = p_tenant AND m.memory_id = ANY (p_memories) AND m.app_id = p_app AND m.user_id = p_user
        AND m.valid_until IS NULL AND m.memory_id IS DISTINCT FROM p_by AND (p_pinned_too OR NOT m.pinned)
        AND m.valid_from <= p_since
    RETURNING m.*;
END;
$$;
