-- Lists the readable messages of a path: of the one to a place (p_branch, p_depth), or else of the
-- one to p_head (null: the thread's head). By depth, after p_after; p_descending begins at the
-- head. Then comes one row without a message, with the status (ok, thread_not_found,
-- message_not_found), the place that the path leads to, the seq of the thread's newest message,
-- and whether more messages remain. Later pages name the place, which stays when its message is
-- erased, and the seq, because a later message may then get that place: so all pages are of one path.
CREATE OR REPLACE FUNCTION recollect.list_path(
    p_tenant text, p_thread uuid, p_head text, p_branch integer, p_depth integer,
    p_last_seq bigint,
    p_descending boolean,
    -- Null: from the beginning.
    p_after integer,
    -- Null: no filter.
    p_roles text[], p_names text[], p_users text[], p_start timestamptz, p_end timestamptz, p_metadata jsonb,
    p_max_rows integer, p_max_bytes bigint
)
RETURNS TABLE (
    status text, more boolean, branch integer, depth integer, last_seq bigint, message recollect.message
)
LANGUAGE plpgsql STABLE
-- As in `history`: the index has the order.
SET enable_sort = off SET enable_bitmapscan = off SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    v_thread record;
    v_path record;
    v_message record;
    i integer;
    v_branch integer;
    v_from integer;
    v_to integer;
    v_rows integer := 0;
    v_bytes bigint := 0;
BEGIN
    SELECT t.head_branch, t.head_depth, t.last_seq, t.idle_ttl INTO v_thread
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp()
            OR recollect.refuse_clearing(p_tenant, p_thread));
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN NEXT;
        RETURN;
    END IF;
    IF v_thread.idle_ttl IS NOT NULL THEN
        PERFORM recollect.use_thread(p_tenant, p_thread);
    END IF;
    branch := COALESCE(p_branch, v_thread.head_branch);
    depth := COALESCE(p_depth, v_thread.head_depth);
    last_seq := COALESCE(p_last_seq, v_thread.last_seq);
    IF p_branch IS NULL AND p_head IS NOT NULL THEN
        SELECT m.branch, m.depth INTO branch, depth
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.message_id = recollect.named_message(p_tenant, p_thread, p_head);
        IF NOT FOUND THEN
            status := 'message_not_found';
            RETURN NEXT;
            RETURN;
        END IF;
    END IF;
    SELECT p.* INTO v_path FROM recollect.path_arrays(p_tenant, p_thread, branch, depth) p;

    more := false;
    -- The path has the newest branch first.
    <<branches>>
    FOR v_place IN 1..cardinality(v_path.branches) LOOP
        i := CASE WHEN p_descending THEN v_place ELSE cardinality(v_path.branches) + 1 - v_place END;
        v_branch := v_path.branches[i];
        v_from := v_path.above[i];
        v_to := v_path.depths[i];
        IF p_descending THEN
            v_to := LEAST(v_to, p_after - 1);
        ELSE
            v_from := GREATEST(v_from, p_after);
        END IF;
        CONTINUE WHEN v_from >= v_to;
        FOR v_message IN EXECUTE format($list$
            SELECT recollect.readable(m) AS message, m.bytes
            FROM recollect.messages m
            WHERE m.tenant_id = $1 AND m.thread_id = $2 AND m.branch = $3
                AND m.depth > $4 AND m.depth <= $5 AND m.deleted_at IS NULL AND m.seq <= $12
                AND ($6::text[] IS NULL OR m.role = ANY ($6))
                AND ($7::text[] IS NULL OR m.name = ANY ($7))
                AND ($13::text[] IS NULL OR m.said_by = ANY ($13))
                AND ($8::timestamptz IS NULL OR m.said_at >= $8)
                AND ($9::timestamptz IS NULL OR m.said_at < $9)
                AND ($10::jsonb IS NULL OR m.metadata @> $10)
            ORDER BY m.depth %s
            LIMIT $11
            $list$, CASE WHEN p_descending THEN 'DESC' ELSE 'ASC' END)
            USING p_tenant, p_thread, v_branch, v_from, v_to, p_roles, p_names, p_start, p_end, p_metadata,
                p_max_rows - v_rows + 1, last_seq, p_users
        LOOP
            -- The first message is returned even if it is too large.
            IF v_rows = p_max_rows OR (v_rows > 0 AND v_bytes + v_message.bytes > p_max_bytes) THEN
                more := true;
                EXIT branches;
            END IF;
            message := v_message.message;
            RETURN NEXT;
            v_rows := v_rows + 1;
            v_bytes := v_bytes + v_message.bytes;
        END LOOP;
    END LOOP;
    message := NULL;
    status := 'ok';
    RETURN NEXT;
END;
$$;
