-- Reads messages by id. Leaves out those that are erased, expired, unknown or outside the
-- scope, of which null means any. p_head names the message that replaces the head of
-- p_head_thread; null: each thread's own.
CREATE OR REPLACE FUNCTION recollect.hydrate(
    p_tenant text, p_ids uuid[], p_app text, p_user text, p_thread uuid, p_space text,
    p_head_thread uuid, p_head text
)
RETURNS TABLE (
    on_path boolean, thread_id uuid, ordinal bigint,
    message_id uuid, external_id text, parent_id uuid, seq bigint, branch integer, depth integer, role text, name text,
    parts json, metadata jsonb, tokens integer, said_at timestamptz
)
LANGUAGE plpgsql STABLE
-- The ids are few, whatever the statistics of a new table say.
SET enable_bitmapscan = off SET enable_seqscan = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    v_branch integer;
    v_depth integer;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    IF p_head IS NOT NULL THEN
        SELECT m.branch, m.depth INTO v_branch, v_depth
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.message_id = recollect.named_message(p_tenant, p_head_thread, p_head);
    END IF;
    RETURN QUERY
    WITH hits AS MATERIALIZED (
        SELECT m.thread_id, t.ordinal,
            CASE WHEN v_branch IS NOT NULL AND m.thread_id = p_head_thread THEN v_branch ELSE t.head_branch
            END AS head_branch,
            CASE WHEN v_branch IS NOT NULL AND m.thread_id = p_head_thread THEN v_depth ELSE t.head_depth
            END AS head_depth,
            m.message_id, m.external_id, m.parent_id, m.seq, m.branch, m.depth, m.role, m.name,
            m.parts, m.metadata, m.tokens, m.said_at
        FROM (SELECT DISTINCT u.id FROM unnest(p_ids) AS u (id)) AS requested
        CROSS JOIN LATERAL recollect.message_by_id(p_tenant, requested.id) AS m
        CROSS JOIN LATERAL recollect.thread_by_id(p_tenant, m.thread_id) AS t
        WHERE m.deleted_at IS NULL
            AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
            AND (p_app IS NULL OR t.app_id = p_app)
            AND (p_user IS NULL OR t.user_id = p_user)
            AND (p_thread IS NULL OR t.thread_id = p_thread)
            AND (p_space IS NULL OR recollect.is_in_space(p_tenant, t.app_id, p_space))
    ),
    -- The path of each head, as far back as the hits that are not on its own branch.
    path AS MATERIALIZED (
        SELECT head.thread_id, part.branch, part.depth
        FROM (
            SELECT h.thread_id, h.head_branch, h.head_depth, min(h.branch) AS lowest
            FROM hits h
            WHERE h.branch <> h.head_branch
            GROUP BY h.thread_id, h.head_branch, h.head_depth
        ) AS head
        CROSS JOIN LATERAL recollect.path_back_to(
            p_tenant, head.thread_id, head.head_branch, head.head_depth, head.lowest) AS part
    )
    SELECT
        CASE WHEN m.branch = m.head_branch THEN m.depth <= m.head_depth
            ELSE EXISTS (
                SELECT FROM path p
                WHERE p.thread_id = m.thread_id AND p.branch = m.branch AND m.depth <= p.depth)
        END,
        m.thread_id, m.ordinal,
        m.message_id, m.external_id, m.parent_id, m.seq, m.branch, m.depth, m.role, m.name,
        m.parts, m.metadata, m.tokens, m.said_at
    FROM hits m;
END;
$$;
