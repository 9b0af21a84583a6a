-- Reads the messages around each anchor: before it along its parents; after it along the
-- active path if the anchor is on that, or else along its own branch. p_head names the
-- message that replaces the head of p_head_thread; null: each thread's own. Walks only as far as is returned.
-- Stable, as `history` is: an erasure meanwhile takes no branch out of the walk.
--
-- The anchors whose neighbors are all on their own branch are read in one query.
CREATE OR REPLACE FUNCTION recollect.neighbors(
    p_tenant text, p_anchors uuid[], p_app text, p_user text, p_thread uuid, p_space text, p_head_thread uuid,
    p_head text, p_before integer, p_after integer
)
RETURNS TABLE (
    anchor_id uuid, distance integer, ordinal bigint, message recollect.message
)
LANGUAGE plpgsql STABLE
SET enable_sort = off SET enable_bitmapscan = off SET enable_seqscan = off
-- A LIMIT from a parameter is planned again for each execution otherwise.
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    v_anchor record;
    v_given_branch integer;
    v_given_depth integer;
    v_branch integer;
    v_depth integer;
    v_active boolean;
    v_branches integer[];
    v_depths integer[];
    v_own_ids uuid[] := '{}';
    v_own_threads uuid[] := '{}';
    v_own_ordinals bigint[] := '{}';
    v_own_branches integer[] := '{}';
    v_own_depths integer[] := '{}';
    v_own_ends integer[] := '{}';
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    IF p_head IS NOT NULL THEN
        SELECT m.branch, m.depth INTO v_given_branch, v_given_depth
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.message_id = recollect.named_message(p_tenant, p_head_thread, p_head);
    END IF;
    FOR v_anchor IN
        SELECT m.message_id, m.thread_id, m.branch, m.depth, t.ordinal,
            CASE WHEN v_given_branch IS NOT NULL AND m.thread_id = p_head_thread THEN v_given_branch
                ELSE t.head_branch END AS head_branch,
            CASE WHEN v_given_branch IS NOT NULL AND m.thread_id = p_head_thread THEN v_given_depth
                ELSE t.head_depth END AS head_depth,
            b.parent_branch IS NULL
                OR (m.depth - b.fork_depth > p_before AND t.last_seq = t.message_count) AS has_all_before
        FROM unnest(p_anchors) AS a (id)
        CROSS JOIN LATERAL recollect.message_by_id(p_tenant, a.id) AS m
        CROSS JOIN LATERAL recollect.thread_by_id(p_tenant, m.thread_id) AS t
        CROSS JOIN LATERAL (
            SELECT b.parent_branch, b.fork_depth FROM recollect.branches b
            WHERE b.tenant_id = p_tenant AND b.thread_id = m.thread_id AND b.branch = m.branch
            OFFSET 0
        ) AS b
        WHERE m.deleted_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
            AND (p_app IS NULL OR t.app_id = p_app)
            AND (p_user IS NULL OR t.user_id = p_user)
            AND (p_thread IS NULL OR t.thread_id = p_thread)
            AND (p_space IS NULL OR recollect.is_in_space(p_tenant, t.app_id, p_space))
    LOOP
        IF v_anchor.has_all_before AND v_anchor.branch = v_anchor.head_branch
            AND v_anchor.depth <= v_anchor.head_depth
        THEN
            v_own_ids := v_own_ids || v_anchor.message_id;
            v_own_threads := v_own_threads || v_anchor.thread_id;
            v_own_ordinals := v_own_ordinals || v_anchor.ordinal;
            v_own_branches := v_own_branches || v_anchor.branch;
            v_own_depths := v_own_depths || v_anchor.depth;
            v_own_ends := v_own_ends || v_anchor.head_depth;
            CONTINUE;
        END IF;
        anchor_id := v_anchor.message_id;
        ordinal := v_anchor.ordinal;

        distance := 0;
        v_branch := v_anchor.branch;
        v_depth := v_anchor.depth - 1;
        WHILE v_branch > 0 AND -distance < p_before LOOP
            FOR message IN
                SELECT (recollect.readable(m)).*
                FROM recollect.messages m
                WHERE m.tenant_id = p_tenant AND m.thread_id = v_anchor.thread_id
                    AND m.branch = v_branch AND m.depth <= v_depth AND m.deleted_at IS NULL
                ORDER BY m.depth DESC
                LIMIT p_before + distance
            LOOP
                distance := distance - 1;
                RETURN NEXT;
            END LOOP;
            SELECT p.branch, p.depth INTO STRICT v_branch, v_depth
            FROM recollect.parent_of_branch(p_tenant, v_anchor.thread_id, v_branch, v_depth) p;
        END LOOP;
        CONTINUE WHEN p_after <= 0;

        -- The active path from the head back to the anchor's branch. A branch has a higher
        -- number than the branch that it forks from.
        v_branches := '{}';
        v_depths := '{}';
        v_branch := v_anchor.head_branch;
        v_depth := v_anchor.head_depth;
        WHILE v_branch >= v_anchor.branch AND v_depth > v_anchor.depth LOOP
            v_branches := v_branch || v_branches;
            v_depths := v_depth || v_depths;
            EXIT WHEN v_branch = v_anchor.branch;
            SELECT p.branch, p.depth INTO STRICT v_branch, v_depth
            FROM recollect.parent_of_branch(p_tenant, v_anchor.thread_id, v_branch, v_depth) p;
        END LOOP;
        v_active := v_branch = v_anchor.branch AND v_depth >= v_anchor.depth;
        IF NOT v_active THEN
            v_branches := ARRAY[v_anchor.branch];
            v_depths := ARRAY[2147483647];
        END IF;

        distance := 0;
        FOR i IN 1..cardinality(v_branches) LOOP
            EXIT WHEN distance >= p_after;
            FOR message IN
                SELECT (recollect.readable(m)).*
                FROM recollect.messages m
                WHERE m.tenant_id = p_tenant AND m.thread_id = v_anchor.thread_id
                    AND m.branch = v_branches[i] AND m.depth > v_anchor.depth AND m.depth <= v_depths[i]
                    AND m.deleted_at IS NULL
                ORDER BY m.depth
                LIMIT p_after - distance
            LOOP
                distance := distance + 1;
                RETURN NEXT;
            END LOOP;
        END LOOP;
    END LOOP;

    IF cardinality(v_own_ids) = 0 THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT a.id, n.distance, a.ordinal, n.message
    FROM unnest(v_own_ids, v_own_threads, v_own_ordinals, v_own_branches, v_own_depths, v_own_ends)
        AS a (id, thread_id, ordinal, branch, depth, last_depth)
    CROSS JOIN LATERAL (
        (SELECT -(row_number() OVER (ORDER BY m.depth DESC))::integer AS distance,
            recollect.readable(m) AS message
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.thread_id = a.thread_id
            AND m.branch = a.branch AND m.depth < a.depth AND m.deleted_at IS NULL
        ORDER BY m.depth DESC
        LIMIT p_before)
        UNION ALL
        (SELECT (row_number() OVER (ORDER BY m.depth))::integer,
            recollect.readable(m) AS message
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.thread_id = a.thread_id
            AND m.branch = a.branch AND m.depth > a.depth AND m.depth <= a.last_depth AND m.deleted_at IS NULL
        ORDER BY m.depth
        LIMIT p_after)
    ) AS n;
END;
$$;
