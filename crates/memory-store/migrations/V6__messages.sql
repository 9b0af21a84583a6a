-- Reads back from a head along its parents, the newest first. After the
-- messages comes one row without any, which has the status (ok,
-- thread_not_found, message_not_found, unchanged) and tells whether older
-- messages remain.
--
-- It also has what the path to the thread's head depends on: seqs given out,
-- messages left, and the head. While all three stay, so does the path, because
-- messages only ever come, with a seq, and go. They are read before the
-- messages: these are never older than they say. Where they are what the caller
-- knows already (p_known_…), nothing else is read: the status is unchanged.
--
-- It stops after p_max_rows messages or p_max_bytes of content, or, once their
-- tokens exceed p_max_tokens, at the start of the turn that it is in: only a
-- whole turn can be judged. Each branch on the path is a backward scan of one index, so the
-- cost is that of what is returned.
CREATE FUNCTION recollect.history(
    p_tenant text, p_thread uuid, p_head uuid, p_max_tokens bigint, p_max_rows integer,
    p_max_bytes bigint,
    p_known_seq bigint DEFAULT NULL, p_known_count bigint DEFAULT NULL, p_known_head uuid DEFAULT NULL
)
RETURNS TABLE (
    status text, older boolean,
    message_id uuid, parent_id uuid, seq bigint, branch integer, depth integer, role text, name text,
    parts json, metadata jsonb, tokens integer, said_at timestamptz,
    last_seq bigint, message_count bigint, head_id uuid
)
LANGUAGE plpgsql
-- The index gives the order. A plan that sorts would read the whole branch,
-- and statistics that lag behind a young table could suggest one.
SET enable_sort = off SET enable_bitmapscan = off SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    v_thread record;
    v_branch integer;
    v_depth integer;
    v_rows integer := 0;
    v_tokens bigint := 0;
    v_bytes bigint := 0;
    v_size integer;
    v_last_role text := '';
    v_older boolean := false;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    SELECT t.last_seq, t.message_count, t.head_id, t.head_branch, t.head_depth INTO v_thread
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp());
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN NEXT;
        RETURN;
    END IF;
    IF v_thread.last_seq = p_known_seq AND v_thread.message_count = p_known_count
        AND v_thread.head_id IS NOT DISTINCT FROM p_known_head
    THEN
        status := 'unchanged';
        RETURN NEXT;
        RETURN;
    END IF;
    v_branch := v_thread.head_branch;
    v_depth := v_thread.head_depth;
    IF p_head IS NOT NULL THEN
        SELECT m.branch, m.depth INTO v_branch, v_depth
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.message_id = p_head
            AND m.thread_id = p_thread AND m.deleted_at IS NULL;
        IF NOT FOUND THEN
            status := 'message_not_found';
            RETURN NEXT;
            RETURN;
        END IF;
    END IF;

    <<path>>
    WHILE v_branch > 0 LOOP
        FOR message_id, parent_id, seq, branch, depth, role, name, parts, metadata, tokens, said_at, v_size IN
            SELECT m.message_id, m.parent_id, m.seq, m.branch, m.depth, m.role, m.name,
                m.parts, m.metadata, m.tokens, m.said_at, m.bytes
            FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread
                AND m.branch = v_branch AND m.depth <= v_depth AND m.deleted_at IS NULL
            ORDER BY m.depth DESC
            LIMIT p_max_rows - v_rows + 1
        LOOP
            IF v_rows = p_max_rows OR v_bytes > p_max_bytes OR (v_tokens > p_max_tokens AND v_last_role = 'user') THEN
                v_older := true;
                EXIT path;
            END IF;
            RETURN NEXT;
            v_rows := v_rows + 1;
            v_tokens := v_tokens + tokens;
            v_bytes := v_bytes + v_size;
            v_last_role := role;
        END LOOP;
        SELECT COALESCE(b.parent_branch, 0), b.fork_depth INTO STRICT v_branch, v_depth
        FROM recollect.branches b
        WHERE b.tenant_id = p_tenant AND b.thread_id = p_thread AND b.branch = v_branch;
    END LOOP;

    message_id := NULL;
    status := 'ok';
    older := v_older;
    last_seq := v_thread.last_seq;
    message_count := v_thread.message_count;
    head_id := v_thread.head_id;
    RETURN NEXT;
END;
$$;

-- Reads the messages around each anchor: before it along its parents; after it
-- along the active path where it lies on that, or else along its own branch.
-- p_head stands for the head of its thread; null: each thread's own.
CREATE FUNCTION recollect.neighbors(
    p_tenant text, p_anchors uuid[], p_app text, p_user text, p_thread uuid, p_head uuid,
    p_before integer, p_after integer
)
RETURNS TABLE (
    anchor_id uuid, distance integer, ordinal bigint, thread_id uuid,
    message_id uuid, parent_id uuid, seq bigint, branch integer, depth integer, role text, name text,
    parts json, metadata jsonb, tokens integer, said_at timestamptz
)
LANGUAGE plpgsql
SET enable_sort = off SET enable_bitmapscan = off SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    v_anchor record;
    v_branch integer;
    v_depth integer;
    v_active boolean;
    v_branches integer[];
    v_depths integer[];
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    FOR v_anchor IN
        SELECT m.message_id, m.thread_id, m.branch, m.depth, t.ordinal,
            COALESCE(h.branch, t.head_branch) AS head_branch, COALESCE(h.depth, t.head_depth) AS head_depth
        FROM unnest(p_anchors) AS a (id)
        JOIN recollect.messages m
            ON m.tenant_id = p_tenant AND m.message_id = a.id AND m.deleted_at IS NULL
        JOIN recollect.threads t
            ON t.tenant_id = p_tenant AND t.thread_id = m.thread_id
        LEFT JOIN recollect.messages h
            ON h.tenant_id = p_tenant AND h.message_id = p_head AND h.thread_id = m.thread_id
        WHERE (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
            AND (p_app IS NULL OR t.app_id = p_app)
            AND (p_user IS NULL OR t.user_id = p_user)
            AND (p_thread IS NULL OR t.thread_id = p_thread)
    LOOP
        anchor_id := v_anchor.message_id;
        ordinal := v_anchor.ordinal;
        thread_id := v_anchor.thread_id;

        distance := 0;
        v_branch := v_anchor.branch;
        v_depth := v_anchor.depth - 1;
        WHILE v_branch > 0 AND -distance < p_before LOOP
            FOR message_id, parent_id, seq, branch, depth, role, name, parts, metadata, tokens, said_at IN
                SELECT m.message_id, m.parent_id, m.seq, m.branch, m.depth, m.role, m.name,
                    m.parts, m.metadata, m.tokens, m.said_at
                FROM recollect.messages m
                WHERE m.tenant_id = p_tenant AND m.thread_id = v_anchor.thread_id
                    AND m.branch = v_branch AND m.depth <= v_depth AND m.deleted_at IS NULL
                ORDER BY m.depth DESC
                LIMIT p_before + distance
            LOOP
                distance := distance - 1;
                RETURN NEXT;
            END LOOP;
            SELECT COALESCE(b.parent_branch, 0), LEAST(b.fork_depth, v_depth) INTO STRICT v_branch, v_depth
            FROM recollect.branches b
            WHERE b.tenant_id = p_tenant AND b.thread_id = v_anchor.thread_id AND b.branch = v_branch;
        END LOOP;
        CONTINUE WHEN p_after <= 0;

        -- The active path from the head down to the anchor's branch. A branch
        -- has a higher number than the one that it left.
        v_branches := '{}';
        v_depths := '{}';
        v_branch := v_anchor.head_branch;
        v_depth := v_anchor.head_depth;
        WHILE v_branch >= v_anchor.branch AND v_depth > v_anchor.depth LOOP
            v_branches := v_branch || v_branches;
            v_depths := v_depth || v_depths;
            EXIT WHEN v_branch = v_anchor.branch;
            SELECT COALESCE(b.parent_branch, 0), b.fork_depth INTO STRICT v_branch, v_depth
            FROM recollect.branches b
            WHERE b.tenant_id = p_tenant AND b.thread_id = v_anchor.thread_id AND b.branch = v_branch;
        END LOOP;
        v_active := v_branch = v_anchor.branch AND v_depth >= v_anchor.depth;
        IF NOT v_active THEN
            v_branches := ARRAY[v_anchor.branch];
            v_depths := ARRAY[2147483647];
        END IF;

        distance := 0;
        FOR i IN 1..cardinality(v_branches) LOOP
            EXIT WHEN distance >= p_after;
            FOR message_id, parent_id, seq, branch, depth, role, name, parts, metadata, tokens, said_at IN
                SELECT m.message_id, m.parent_id, m.seq, m.branch, m.depth, m.role, m.name,
                    m.parts, m.metadata, m.tokens, m.said_at
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
END;
$$;

-- Erases one message. Its row stays, empty, so that its seq is not given out
-- again and those that follow it keep their places.
CREATE FUNCTION recollect.delete_message(
    p_tenant text, p_actor text, p_thread uuid, p_message uuid,
    OUT status text, OUT revision bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_head uuid;
    v_message record;
    v_next record;
    v_branch integer;
    v_depth integer;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    PERFORM set_config('recollect.actor', p_actor, true);
    SELECT t.head_id INTO v_head FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN;
    END IF;

    UPDATE recollect.messages m
    SET parts = '[]', metadata = '{}', name = '', words = NULL, tokens = 0, bytes = 0,
        deleted_at = clock_timestamp()
    WHERE m.tenant_id = p_tenant AND m.message_id = p_message
        AND m.thread_id = p_thread AND m.deleted_at IS NULL
    RETURNING m.seq, m.branch, m.depth INTO v_message;
    IF NOT FOUND THEN
        status := 'message_not_found';
        RETURN;
    END IF;

    -- Not what a worker has claimed: if it dies, its replay finds the message gone.
    DELETE FROM recollect.outbox
    WHERE tenant_id = p_tenant AND thread_id = p_thread AND message_id = p_message AND lease_id IS NULL;
    INSERT INTO recollect.outbox (tenant_id, thread_id, message_id, seq, op)
    VALUES (p_tenant, p_thread, p_message, v_message.seq, 'delete')
    RETURNING id INTO revision;
    -- The index entries of the answers below it, three steps deep, were made
    -- with its words: make them anew.
    WITH RECURSIVE below AS (
        SELECT v_message.branch AS branch, v_message.depth AS depth, 0 AS steps
        UNION ALL
        SELECT child.branch, below.depth + 1, below.steps + 1
        FROM below
        CROSS JOIN LATERAL (
            SELECT below.branch
            UNION ALL
            SELECT b.branch FROM recollect.branches b
            WHERE b.tenant_id = p_tenant AND b.thread_id = p_thread
                AND b.parent_branch = below.branch AND b.fork_depth = below.depth
        ) AS child (branch)
        WHERE below.steps < 3
    ),
    queued AS (
        INSERT INTO recollect.outbox (tenant_id, thread_id, message_id, seq, op)
        SELECT p_tenant, p_thread, m.message_id, m.seq, 'upsert'
        FROM below
        JOIN recollect.messages m
            ON m.tenant_id = p_tenant AND m.thread_id = p_thread
            AND m.branch = below.branch AND m.depth = below.depth AND m.deleted_at IS NULL
        WHERE below.steps > 0
            -- What waits unclaimed will be made from the words that are left.
            AND NOT EXISTS (
                SELECT FROM recollect.outbox o
                WHERE o.tenant_id = p_tenant AND o.thread_id = p_thread AND o.message_id = m.message_id
                    AND o.op = 'upsert' AND o.lease_id IS NULL AND o.dead_at IS NULL)
        ORDER BY m.seq
        RETURNING id
    )
    SELECT GREATEST(revision, max(queued.id)) INTO revision FROM queued;
    PERFORM recollect.forget_sources(p_tenant, p_thread, p_message);

    IF v_head = p_message THEN
        -- The head falls back to the nearest readable message on its path, or
        -- else to the newest of the thread.
        v_branch := v_message.branch;
        v_depth := v_message.depth - 1;
        LOOP
            SELECT m.message_id, m.seq, m.branch, m.depth, m.path_tokens INTO v_next
            FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread
                AND m.branch = v_branch AND m.depth <= v_depth AND m.deleted_at IS NULL
            ORDER BY m.depth DESC
            LIMIT 1;
            EXIT WHEN FOUND;
            SELECT COALESCE(b.parent_branch, 0), b.fork_depth INTO STRICT v_branch, v_depth
            FROM recollect.branches b
            WHERE b.tenant_id = p_tenant AND b.thread_id = p_thread AND b.branch = v_branch;
            EXIT WHEN v_branch = 0;
        END LOOP;
        IF v_next.message_id IS NULL THEN
            SELECT m.message_id, m.seq, m.branch, m.depth, m.path_tokens INTO v_next
            FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.deleted_at IS NULL
            ORDER BY m.seq DESC
            LIMIT 1;
        END IF;
        UPDATE recollect.threads
        SET head_id = v_next.message_id, head_seq = COALESCE(v_next.seq, 0),
            head_branch = COALESCE(v_next.branch, 0), head_depth = COALESCE(v_next.depth, 0),
            path_tokens = COALESCE(v_next.path_tokens, 0), distill_at = 0
        WHERE tenant_id = p_tenant AND thread_id = p_thread;
        -- Nobody has looked at this path yet, or not lately.
        PERFORM recollect.want_distill(p_tenant, p_thread);
    END IF;
    PERFORM recollect.erase_distillates(p_tenant, p_thread, v_message.branch, v_message.depth);
    UPDATE recollect.threads
    SET message_count = message_count - 1, summary_generation = summary_generation + 1,
        observation_generation = observation_generation + 1, extract_generation = extract_generation + 1,
        updated_at = clock_timestamp()
    WHERE tenant_id = p_tenant AND thread_id = p_thread;
    PERFORM recollect.note(p_tenant, 'delete_message', p_thread, p_message::text, 1);
    status := 'ok';
END;
$$;

-- Makes a message the head of its thread. What is appended next goes on from
-- there.
CREATE FUNCTION recollect.set_head(
    p_tenant text, p_actor text, p_thread uuid, p_head uuid, p_check_head boolean, p_expected_head uuid,
    -- ok, thread_not_found, message_not_found or head_moved (the thread has
    -- the head).
    OUT status text, OUT thread recollect.threads
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_head record;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    SELECT t.* INTO thread FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    IF p_check_head AND thread.head_id IS DISTINCT FROM p_expected_head THEN
        status := 'head_moved';
        RETURN;
    END IF;
    SELECT m.seq, m.branch, m.depth, m.path_tokens INTO v_head
    FROM recollect.messages m
    WHERE m.tenant_id = p_tenant AND m.message_id = p_head
        AND m.thread_id = p_thread AND m.deleted_at IS NULL;
    IF NOT FOUND THEN
        status := 'message_not_found';
        RETURN;
    END IF;

    status := 'ok';
    IF thread.head_id = p_head THEN
        RETURN;
    END IF;
    UPDATE recollect.threads
    SET head_id = p_head, head_seq = v_head.seq, head_branch = v_head.branch, head_depth = v_head.depth,
        path_tokens = v_head.path_tokens, distill_at = 0, updated_at = clock_timestamp()
    WHERE tenant_id = p_tenant AND thread_id = p_thread
    RETURNING * INTO thread;
    -- Nobody has looked at this path yet, or not lately.
    PERFORM recollect.want_distill(p_tenant, p_thread);
    PERFORM recollect.note(p_tenant, 'set_head', p_thread, p_head::text, 1);
END;
$$;
