-- Reads messages by id. Leaves out messages that are erased, expired, unknown or outside the
-- scope, of which null means any. p_head names the message that replaces the head of
-- p_head_thread; null: each thread's own.
CREATE OR REPLACE FUNCTION recollect.hydrate(
    p_tenant text, p_ids uuid[], p_app text, p_user text, p_thread uuid, p_space text,
    p_head_thread uuid, p_head text,
    -- Whether the messages themselves are read, or only whether they are on the path.
    p_content boolean
)
RETURNS TABLE (
    message_id uuid,
    -- Whether it is on the path of its thread's head.
    on_path boolean,
    -- The order of creation of its thread.
    ordinal bigint,
    message recollect.message
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
    WITH found AS MATERIALIZED (
        SELECT m.thread_id, m.message_id, m.branch, m.depth,
            CASE WHEN p_content THEN recollect.readable(m) END AS message
        FROM (SELECT DISTINCT u.id FROM unnest(p_ids) AS u (id)) AS requested
        CROSS JOIN LATERAL recollect.message_by_id(p_tenant, requested.id) AS m
        WHERE m.deleted_at IS NULL
    ),
    -- The threads within the scope, each with its head.
    within AS MATERIALIZED (
        SELECT t.thread_id, t.ordinal,
            CASE WHEN v_branch IS NOT NULL AND t.thread_id = p_head_thread THEN v_branch ELSE t.head_branch
            END AS branch,
            CASE WHEN v_branch IS NOT NULL AND t.thread_id = p_head_thread THEN v_depth ELSE t.head_depth
            END AS depth
        FROM (SELECT DISTINCT f.thread_id FROM found f) AS containing
        CROSS JOIN LATERAL recollect.thread_by_id(p_tenant, containing.thread_id) AS t
        WHERE (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
            AND (p_app IS NULL OR t.app_id = p_app)
            AND (p_user IS NULL OR t.user_id = p_user)
            AND (p_thread IS NULL OR t.thread_id = p_thread)
            AND (p_space IS NULL OR recollect.is_in_space(p_tenant, t.app_id, p_space))
    ),
    -- The path of each head, as far back as the messages that are not on its own branch.
    path AS MATERIALIZED (
        SELECT head.thread_id, part.branch, part.depth
        FROM (
            SELECT t.thread_id, t.branch, t.depth, min(f.branch) AS lowest
            FROM found f
            JOIN within t ON t.thread_id = f.thread_id AND t.branch <> f.branch
            GROUP BY t.thread_id, t.branch, t.depth
        ) AS head
        CROSS JOIN LATERAL recollect.path_back_to(
            p_tenant, head.thread_id, head.branch, head.depth, head.lowest) AS part
    )
    SELECT f.message_id,
        CASE WHEN f.branch = t.branch THEN f.depth <= t.depth
            ELSE EXISTS (
                SELECT FROM path p
                WHERE p.thread_id = f.thread_id AND p.branch = f.branch AND f.depth <= p.depth)
        END,
        t.ordinal, f.message
    FROM found f
    JOIN within t ON t.thread_id = f.thread_id;
END;
$$;
