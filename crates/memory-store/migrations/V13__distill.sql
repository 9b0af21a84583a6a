-- Texts that stand for stretches of messages, and the threads that wait for
-- somebody to make them.
--
-- A stretch is the messages on the path to (branch, to_depth) that are deeper
-- than after_depth. A text holds on each path that its end lies on, and on no
-- other: so another branch has only what covers messages that it shares.
CREATE TABLE recollect.distillates (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('summary', 'observation')),
    -- The order of making, from 1 for each thread and kind.
    number bigint NOT NULL,
    -- The last message, which can be read; 0 and 0 before the first one.
    branch integer NOT NULL,
    after_depth integer NOT NULL,
    to_depth integer NOT NULL,
    text text NOT NULL,
    -- Its size in tokens of `o200k_base`.
    tokens integer NOT NULL CHECK (tokens >= 0),
    -- `extractive`, a model, `caller` or `worker`.
    made_by text NOT NULL,
    -- Of a summary: the one that it follows. Null for the first one of a path.
    based_on bigint,
    -- Of a summary: its text does not go on from that one's.
    own_text boolean NOT NULL DEFAULT false,
    -- Of a summary: the messages were taken out of the working memory, and the
    -- text does not come from them.
    sets_aside boolean NOT NULL DEFAULT false,
    -- Of an observation: it stands in the place of what it covers. Before, it is
    -- only ready to.
    active boolean NOT NULL DEFAULT true,
    -- Of a reflection: all that it stands for, reflections with what they stand
    -- for. It covers no message itself.
    reflects bigint[],
    -- The readable messages that it stands for.
    message_count bigint NOT NULL,
    message_tokens bigint NOT NULL,
    first_id uuid,
    last_id uuid,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, thread_id, kind, number)
);

-- Threads that a worker is to look at. A row for each, however often it is
-- wanted.
CREATE TABLE recollect.distill_jobs (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    -- Rises when it is wanted again while somebody works on it.
    wanted bigint NOT NULL DEFAULT 1,
    attempts integer NOT NULL DEFAULT 0,
    -- Not to be claimed before; the end of the lease while there is one.
    available_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease_id uuid,
    -- What kept the last try from succeeding, and since when none has.
    last_error text NOT NULL DEFAULT '',
    failing_since timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, thread_id)
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000
);

CREATE INDEX distill_jobs_by_time ON recollect.distill_jobs (available_at);

SELECT recollect.isolate('distillates', 'distill_jobs');
GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.distillates, recollect.distill_jobs TO recollect_service;

-- Workers see that there is work, and no text.
CREATE POLICY worker ON recollect.distill_jobs TO recollect_worker USING (true);
GRANT SELECT, UPDATE ON recollect.distill_jobs TO recollect_worker;

-- Asks for a worker to look at a thread.
CREATE FUNCTION recollect.want_distill(p_tenant text, p_thread uuid)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    -- One that nobody has claimed yet will be claimed after this is committed:
    -- its row is locked until then. One that was put off is due now; one that
    -- failed keeps its pause.
    INSERT INTO recollect.distill_jobs AS j (tenant_id, thread_id)
    VALUES (p_tenant, p_thread)
    ON CONFLICT (tenant_id, thread_id) DO UPDATE
    SET wanted = j.wanted + 1,
        available_at = CASE WHEN j.lease_id IS NULL THEN clock_timestamp() ELSE j.available_at END,
        created_at = LEAST(j.created_at, clock_timestamp())
    WHERE j.lease_id IS NOT NULL
        OR (j.failing_since IS NULL AND j.available_at > clock_timestamp());
END;
$$;

-- The way from a place back to the root: of each branch the depths over `above`,
-- up to `depth`.
CREATE FUNCTION recollect.path(p_tenant text, p_thread uuid, p_branch integer, p_depth integer)
RETURNS TABLE (branch integer, above integer, depth integer)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_up integer;
    v_fork integer;
BEGIN
    branch := p_branch;
    depth := p_depth;
    WHILE branch > 0 LOOP
        SELECT COALESCE(b.parent_branch, 0), b.fork_depth INTO STRICT v_up, v_fork
        FROM recollect.branches b
        WHERE b.tenant_id = p_tenant AND b.thread_id = p_thread AND b.branch = path.branch;
        above := v_fork;
        RETURN NEXT;
        branch := v_up;
        depth := LEAST(v_fork, depth);
    END LOOP;
END;
$$;

-- The size of the readable messages of a path deeper than p_after, up to p_to.
-- Where no message of the thread was ever erased (p_whole), the tokens from the
-- root tell it; otherwise it costs as much as the stretch is long.
CREATE FUNCTION recollect.stretch_size(
    p_tenant text, p_thread uuid, p_whole boolean, p_branches integer[], p_above integer[], p_depths integer[],
    p_after integer, p_to integer,
    OUT message_count bigint, OUT message_tokens bigint
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    IF p_after >= p_to THEN
        message_count := 0;
        message_tokens := 0;
    ELSIF p_whole THEN
        SELECT p_to - p_after, COALESCE(sum(CASE WHEN m.depth = p_to THEN m.path_tokens ELSE -m.path_tokens END), 0)
        INTO message_count, message_tokens
        FROM unnest(p_branches, p_above, p_depths) AS way (branch, above, depth)
        JOIN recollect.messages m
            ON m.tenant_id = p_tenant AND m.thread_id = p_thread
            AND m.branch = way.branch AND m.depth IN (p_after, p_to)
            AND m.depth > way.above AND m.depth <= way.depth AND m.deleted_at IS NULL;
    ELSE
        SELECT count(*), COALESCE(sum(m.tokens), 0) INTO message_count, message_tokens
        FROM unnest(p_branches, p_above, p_depths) AS way (branch, above, depth)
        JOIN recollect.messages m
            ON m.tenant_id = p_tenant AND m.thread_id = p_thread
            AND m.branch = way.branch
            AND m.depth > GREATEST(way.above, p_after) AND m.depth <= LEAST(way.depth, p_to)
            AND m.deleted_at IS NULL
        WHERE way.depth > p_after AND way.above < p_to;
    END IF;
END;
$$;

-- What a stretch has: how many readable messages, their tokens, the first and
-- the last.
CREATE FUNCTION recollect.measure_stretch(
    p_tenant text, p_thread uuid, p_branch integer, p_after integer, p_to integer,
    OUT message_count bigint, OUT message_tokens bigint, OUT first_id uuid, OUT last_id uuid
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_way record;
    v_id uuid;
    v_count bigint;
    v_tokens bigint;
BEGIN
    message_count := 0;
    message_tokens := 0;
    FOR v_way IN SELECT p.branch, p.above, p.depth FROM recollect.path(p_tenant, p_thread, p_branch, p_to) p LOOP
        EXIT WHEN v_way.depth <= p_after;
        SELECT count(*), COALESCE(sum(m.tokens), 0) INTO v_count, v_tokens
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = v_way.branch
            AND m.depth > GREATEST(v_way.above, p_after) AND m.depth <= v_way.depth AND m.deleted_at IS NULL;
        CONTINUE WHEN v_count = 0;
        message_count := message_count + v_count;
        message_tokens := message_tokens + v_tokens;
        SELECT m.message_id INTO first_id
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = v_way.branch
            AND m.depth > GREATEST(v_way.above, p_after) AND m.depth <= v_way.depth AND m.deleted_at IS NULL
        ORDER BY m.depth
        LIMIT 1;
        IF last_id IS NULL THEN
            SELECT m.message_id INTO last_id
            FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = v_way.branch
                AND m.depth > GREATEST(v_way.above, p_after) AND m.depth <= v_way.depth AND m.deleted_at IS NULL
            ORDER BY m.depth DESC
            LIMIT 1;
        END IF;
    END LOOP;
END;
$$;

-- The texts of a kind that hold on the path to a place.
CREATE FUNCTION recollect.valid_distillates(
    p_tenant text, p_thread uuid, p_kind text, p_branches integer[], p_depths integer[]
)
RETURNS SETOF bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN QUERY
    SELECT d.number
    FROM recollect.distillates d
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = p_kind
        AND (d.branch = 0 OR EXISTS (
            SELECT FROM unnest(p_branches, p_depths) AS way (branch, depth)
            WHERE way.branch = d.branch AND way.depth >= d.to_depth));
END;
$$;

-- What was derived from the messages on the path to a head, which of it counts,
-- and how much stands in full: all of one moment.
--
-- Two texts may overlap on a path, where one was made for another path that turns
-- off in between. Then the one that reaches deeper counts, and the other one is
-- `outreached`: so whoever comes back to a path finds it as they left it.
CREATE FUNCTION recollect.distill_state(
    p_tenant text, p_thread uuid, p_head uuid,
    -- Whether what does not hold any more is wanted too.
    p_replaced boolean,
    -- ok, thread_not_found or message_not_found.
    OUT status text, OUT summary_generation bigint, OUT observation_generation bigint,
    OUT head_id uuid, OUT branches integer[], OUT above integer[], OUT depths integer[],
    -- Those with the standing holds or ready, and if they are wanted also those
    -- with replaced or outreached.
    OUT distillates json,
    -- Readable messages that the context stands for, and those set aside.
    OUT summarized_count bigint, OUT set_aside_count bigint,
    -- What stands in full, for summaries and for observations: after_depth,
    -- to_depth, message_count, message_tokens.
    OUT raw_summary json, OUT raw_observations json,
    OUT path_tokens bigint, OUT distill_at bigint, OUT last_seq bigint, OUT last_error text
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_thread record;
    v_branch integer;
    v_depth integer;
    v_item record;
    v_valid bigint[];
    v_summaries bigint[];
    v_tip bigint;
    v_next bigint;
    v_chain bigint[] := '{}';
    v_covered integer := 0;
    -- The shallowest depth that an observation covers so far, and the
    -- shallowest that one covers which is active.
    v_floor integer;
    v_raw_floor integer;
    v_active bigint[] := '{}';
    v_ready bigint[] := '{}';
    v_hidden bigint[] := '{}';
    v_gap_after integer[] := '{}';
    v_gap_to integer[] := '{}';
BEGIN
    SELECT t.last_seq, t.message_count, t.head_id, t.head_branch, t.head_depth, t.path_tokens,
        t.summary_generation, t.observation_generation, t.distill_at,
        COALESCE((SELECT j.last_error FROM recollect.distill_jobs j
                  WHERE j.tenant_id = p_tenant AND j.thread_id = p_thread), '') AS last_error
    INTO v_thread
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp());
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    head_id := v_thread.head_id;
    v_branch := v_thread.head_branch;
    v_depth := v_thread.head_depth;
    path_tokens := v_thread.path_tokens;
    IF p_head IS NOT NULL THEN
        SELECT m.message_id, m.branch, m.depth, m.path_tokens INTO head_id, v_branch, v_depth, path_tokens
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.message_id = p_head
            AND m.thread_id = p_thread AND m.deleted_at IS NULL;
        IF NOT FOUND THEN
            status := 'message_not_found';
            RETURN;
        END IF;
    END IF;
    status := 'ok';
    summary_generation := v_thread.summary_generation;
    observation_generation := v_thread.observation_generation;
    distill_at := v_thread.distill_at;
    last_seq := v_thread.last_seq;
    last_error := v_thread.last_error;
    SELECT COALESCE(array_agg(p.branch ORDER BY p.place), '{}'), COALESCE(array_agg(p.above ORDER BY p.place), '{}'),
        COALESCE(array_agg(p.depth ORDER BY p.place), '{}')
    INTO branches, above, depths
    FROM recollect.path(p_tenant, p_thread, v_branch, v_depth) WITH ORDINALITY AS p (branch, above, depth, place);

    v_summaries := ARRAY(
        SELECT * FROM recollect.valid_distillates(p_tenant, p_thread, 'summary', branches, depths));
    SELECT d.number, d.to_depth INTO v_tip, v_covered
    FROM recollect.distillates d
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND d.number = ANY (v_summaries)
    ORDER BY d.to_depth DESC, d.number DESC
    LIMIT 1;
    v_covered := COALESCE(v_covered, 0);
    v_next := v_tip;
    WHILE v_next IS NOT NULL LOOP
        v_chain := v_chain || v_next;
        SELECT d.based_on INTO v_next
        FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND d.number = v_next
            -- Whatever the rows say, this comes to an end.
            AND d.based_on < d.number;
        EXIT WHEN NOT FOUND;
    END LOOP;

    v_valid := ARRAY(
        SELECT * FROM recollect.valid_distillates(p_tenant, p_thread, 'observation', branches, depths));
    v_floor := v_depth;
    v_raw_floor := v_depth;
    FOR v_item IN
        SELECT d.number, d.after_depth, d.to_depth, d.active
        FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation'
            AND d.number = ANY (v_valid) AND d.reflects IS NULL
        ORDER BY d.to_depth DESC, d.number DESC
    LOOP
        CONTINUE WHEN v_item.to_depth > v_floor;
        v_floor := v_item.after_depth;
        IF NOT v_item.active THEN
            v_ready := v_ready || v_item.number;
            CONTINUE;
        END IF;
        v_active := v_active || v_item.number;
        IF v_item.to_depth < v_raw_floor THEN
            v_gap_after := v_item.to_depth || v_gap_after;
            v_gap_to := v_raw_floor || v_gap_to;
        END IF;
        v_raw_floor := v_item.after_depth;
    END LOOP;
    IF v_raw_floor > 0 THEN
        v_gap_after := 0 || v_gap_after;
        v_gap_to := v_raw_floor || v_gap_to;
    END IF;
    FOR v_item IN
        SELECT d.number, d.reflects, d.active
        FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation'
            AND d.number = ANY (v_valid) AND d.reflects IS NOT NULL
        ORDER BY d.active DESC, d.to_depth DESC, d.number DESC
    LOOP
        CONTINUE WHEN v_item.number = ANY (v_hidden) OR v_item.reflects && v_hidden
            -- What it stands for has to count itself.
            OR EXISTS (
                SELECT FROM recollect.distillates d
                WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation'
                    AND d.number = ANY (v_item.reflects) AND d.reflects IS NULL AND NOT d.number = ANY (v_active));
        IF v_item.active THEN
            v_active := v_active || v_item.number;
            v_hidden := v_hidden || v_item.reflects;
        ELSE
            v_ready := v_ready || v_item.number;
        END IF;
    END LOOP;

    SELECT COALESCE(json_agg(json_build_object(
            'kind', s.kind, 'number', s.number, 'standing', s.standing,
            'branch', s.branch, 'after_depth', s.after_depth, 'to_depth', s.to_depth,
            'text', s.text, 'tokens', s.tokens, 'made_by', s.made_by, 'based_on', s.based_on, 'own_text', s.own_text,
            'sets_aside', s.sets_aside, 'active', s.active, 'reflects', s.reflects,
            'message_count', s.message_count, 'message_tokens', s.message_tokens,
            'first_id', s.first_id, 'last_id', s.last_id,
            'created_us', (extract(epoch FROM s.created_at) * 1000000)::bigint) ORDER BY s.kind, s.number), '[]')
    INTO distillates
    FROM (
        SELECT d.*, CASE
            WHEN d.number = v_tip THEN 'holds'
            WHEN d.number = ANY (v_chain) THEN 'replaced'
            ELSE 'outreached' END AS standing
        FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND d.number = ANY (v_summaries)
        UNION ALL
        SELECT d.*, CASE
            WHEN d.number = ANY (v_hidden) THEN 'replaced'
            WHEN d.number = ANY (v_active) THEN 'holds'
            WHEN d.number = ANY (v_ready) THEN 'ready'
            ELSE 'outreached' END
        FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation' AND d.number = ANY (v_valid)
    ) AS s
    WHERE p_replaced OR s.standing IN ('holds', 'ready');
    SELECT COALESCE(sum(d.message_count) FILTER (WHERE NOT d.sets_aside), 0),
        COALESCE(sum(d.message_count) FILTER (WHERE d.sets_aside), 0)
    INTO summarized_count, set_aside_count
    FROM recollect.distillates d
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND d.number = ANY (v_chain);

    SELECT json_build_object('after_depth', v_covered, 'to_depth', v_depth,
        'message_count', z.message_count, 'message_tokens', z.message_tokens)
    INTO raw_summary
    FROM recollect.stretch_size(p_tenant, p_thread, v_thread.last_seq = v_thread.message_count,
        branches, above, depths, v_covered, v_depth) z;
    SELECT COALESCE(json_agg(json_build_object('after_depth', gap.after_depth, 'to_depth', gap.to_depth,
        'message_count', z.message_count, 'message_tokens', z.message_tokens) ORDER BY gap.after_depth), '[]')
    INTO raw_observations
    FROM unnest(v_gap_after, v_gap_to) AS gap (after_depth, to_depth)
    CROSS JOIN LATERAL recollect.stretch_size(p_tenant, p_thread, v_thread.last_seq = v_thread.message_count,
        branches, above, depths, gap.after_depth, gap.to_depth) z;
END;
$$;

-- Reads the readable messages of a stretch, the oldest first, and then one row
-- without any, which has the status (ok, thread_not_found, message_not_found) and
-- tells whether more of the stretch remain. It stops after p_max_rows messages,
-- or when they have p_max_tokens or p_max_bytes; the first one is always returned.
CREATE FUNCTION recollect.read_stretch(
    p_tenant text, p_thread uuid, p_head uuid, p_after integer, p_to integer,
    p_max_rows integer, p_max_tokens bigint, p_max_bytes bigint
)
RETURNS TABLE (
    status text, more boolean, summary_generation bigint, observation_generation bigint,
    message_id uuid, parent_id uuid, seq bigint, branch integer, depth integer, role text, name text,
    parts json, metadata jsonb, tokens integer, said_at timestamptz, imported boolean
)
LANGUAGE plpgsql STABLE
-- As in `history`: the index gives the order.
SET enable_sort = off SET enable_bitmapscan = off SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    v_thread record;
    v_branch integer;
    v_depth integer;
    v_branches integer[];
    v_above integer[];
    v_depths integer[];
    v_rows integer := 0;
    v_tokens bigint := 0;
    v_bytes bigint := 0;
    v_size integer;
BEGIN
    more := false;
    SELECT t.head_branch, t.head_depth, t.summary_generation, t.observation_generation INTO v_thread
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp());
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN NEXT;
        RETURN;
    END IF;
    summary_generation := v_thread.summary_generation;
    observation_generation := v_thread.observation_generation;
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
    -- The oldest piece last, as the path has it.
    FOR branch, v_size, depth IN SELECT p.branch, p.above, p.depth FROM recollect.path(p_tenant, p_thread, v_branch, v_depth) p LOOP
        EXIT WHEN depth <= p_after;
        v_branches := v_branches || branch;
        v_above := v_above || v_size;
        v_depths := v_depths || depth;
    END LOOP;

    <<pieces>>
    FOR i IN REVERSE COALESCE(cardinality(v_branches), 0)..1 LOOP
        FOR message_id, parent_id, seq, branch, depth, role, name, parts, metadata, tokens, said_at, imported, v_size IN
            SELECT m.message_id, m.parent_id, m.seq, m.branch, m.depth, m.role, m.name,
                m.parts, m.metadata, m.tokens, m.said_at, m.imported, m.bytes
            FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = v_branches[i]
                AND m.depth > GREATEST(v_above[i], p_after) AND m.depth <= LEAST(v_depths[i], p_to)
                AND m.deleted_at IS NULL
            ORDER BY m.depth
            LIMIT p_max_rows - v_rows + 1
        LOOP
            IF v_rows > 0 AND (v_rows >= p_max_rows OR v_tokens + tokens > p_max_tokens OR v_bytes + v_size > p_max_bytes)
            THEN
                more := true;
                EXIT pieces;
            END IF;
            RETURN NEXT;
            v_rows := v_rows + 1;
            v_tokens := v_tokens + tokens;
            v_bytes := v_bytes + v_size;
        END LOOP;
    END LOOP;
    message_id := NULL;
    status := 'ok';
    RETURN NEXT;
END;
$$;

-- Begins a change of derived text of a kind: ok, thread_not_found, or stale where
-- the thread's generation of that kind is another one. Changes of a thread queue at
-- its row.
CREATE FUNCTION recollect.distill_lock(
    p_tenant text, p_actor text, p_thread uuid, p_kind text, p_generation bigint
)
RETURNS text
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_generation bigint;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    SELECT CASE p_kind WHEN 'summary' THEN t.summary_generation ELSE t.observation_generation END INTO v_generation
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
    FOR NO KEY UPDATE;
    RETURN CASE WHEN NOT FOUND THEN 'thread_not_found' WHEN v_generation <> p_generation THEN 'stale' ELSE 'ok' END;
END;
$$;

-- Stores a summary that follows what covers the path to its end now, and is based
-- on that.
CREATE FUNCTION recollect.commit_summary(
    p_tenant text, p_actor text, p_thread uuid, p_generation bigint,
    p_branch integer, p_after integer, p_to integer, p_text text, p_tokens integer, p_made_by text,
    p_based_on bigint, p_own_text boolean, p_sets_aside boolean,
    -- ok, thread_not_found, stale or misplaced.
    OUT status text, OUT number bigint, OUT generation bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_tip record;
    v_size record;
BEGIN
    status := recollect.distill_lock(p_tenant, p_actor, p_thread, 'summary', p_generation);
    IF status <> 'ok' THEN
        RETURN;
    END IF;
    SELECT d.number, d.to_depth INTO v_tip
    FROM recollect.distillates d
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary'
        AND (d.branch = 0 OR EXISTS (
            SELECT FROM recollect.path(p_tenant, p_thread, p_branch, p_to) way
            WHERE way.branch = d.branch AND way.depth >= d.to_depth))
    ORDER BY d.to_depth DESC, d.number DESC
    LIMIT 1;
    IF v_tip.number IS DISTINCT FROM p_based_on OR COALESCE(v_tip.to_depth, 0) <> p_after OR p_after > p_to
        OR (p_branch = 0) <> (p_to = 0)
        OR (p_text = '' AND p_after < p_to AND NOT p_sets_aside)
        OR (p_to > 0 AND NOT EXISTS (
            SELECT FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread
                AND m.branch = p_branch AND m.depth = p_to AND m.deleted_at IS NULL))
    THEN
        status := 'misplaced';
        RETURN;
    END IF;
    SELECT s.* INTO v_size FROM recollect.measure_stretch(p_tenant, p_thread, p_branch, p_after, p_to) s;
    UPDATE recollect.threads t
    SET summary_generation = t.summary_generation + 1, last_summary = t.last_summary + 1
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
    RETURNING t.last_summary, t.summary_generation INTO number, generation;
    INSERT INTO recollect.distillates
        (tenant_id, thread_id, kind, number, branch, after_depth, to_depth, text, tokens, made_by,
         based_on, own_text, sets_aside, message_count, message_tokens, first_id, last_id)
    VALUES
        (p_tenant, p_thread, 'summary', number, p_branch, p_after, p_to, p_text, p_tokens, p_made_by,
         p_based_on, p_own_text, p_sets_aside, v_size.message_count, v_size.message_tokens,
         v_size.first_id, v_size.last_id);
    PERFORM recollect.note(p_tenant, 'summarize', p_thread, number::text, v_size.message_count);
END;
$$;

-- Stores an observation of messages that no other one covers on the path to its
-- end. Until it is activated, the messages still stand in full.
CREATE FUNCTION recollect.commit_observation(
    p_tenant text, p_actor text, p_thread uuid, p_generation bigint,
    p_branch integer, p_after integer, p_to integer, p_text text, p_tokens integer, p_made_by text, p_active boolean,
    -- ok, thread_not_found, stale or misplaced.
    OUT status text, OUT number bigint, OUT generation bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_size record;
BEGIN
    status := recollect.distill_lock(p_tenant, p_actor, p_thread, 'observation', p_generation);
    IF status <> 'ok' THEN
        RETURN;
    END IF;
    IF p_text = '' OR p_after < 0 OR p_after >= p_to
        OR NOT EXISTS (
            SELECT FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread
                AND m.branch = p_branch AND m.depth = p_to AND m.deleted_at IS NULL)
        OR EXISTS (
            SELECT FROM recollect.distillates d
            WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation'
                AND d.reflects IS NULL AND d.to_depth > p_after AND d.after_depth < p_to
                AND EXISTS (
                    SELECT FROM recollect.path(p_tenant, p_thread, p_branch, p_to) way
                    WHERE way.branch = d.branch AND way.depth >= d.to_depth))
    THEN
        status := 'misplaced';
        RETURN;
    END IF;
    SELECT s.* INTO v_size FROM recollect.measure_stretch(p_tenant, p_thread, p_branch, p_after, p_to) s;
    UPDATE recollect.threads t
    SET observation_generation = t.observation_generation + 1, last_observation = t.last_observation + 1
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
    RETURNING t.last_observation, t.observation_generation INTO number, generation;
    INSERT INTO recollect.distillates
        (tenant_id, thread_id, kind, number, branch, after_depth, to_depth, text, tokens, made_by, active,
         message_count, message_tokens, first_id, last_id)
    VALUES
        (p_tenant, p_thread, 'observation', number, p_branch, p_after, p_to, p_text, p_tokens, p_made_by, p_active,
         v_size.message_count, v_size.message_tokens, v_size.first_id, v_size.last_id);
    PERFORM recollect.note(p_tenant, 'observe', p_thread, number::text, v_size.message_count);
END;
$$;

-- Whether an active reflection, on the path to a place, stands already for some
-- of what another one is to stand for, and is not itself among that.
CREATE FUNCTION recollect.is_reflected(
    p_tenant text, p_thread uuid, p_branch integer, p_to integer, p_reflects bigint[]
)
RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation'
            AND d.active AND d.reflects && p_reflects AND NOT d.number = ANY (p_reflects)
            AND EXISTS (
                SELECT FROM recollect.path(p_tenant, p_thread, p_branch, p_to) way
                WHERE way.branch = d.branch AND way.depth >= d.to_depth));
END;
$$;

-- Puts observations, or reflections, in the place of what they stand for: all of
-- them or none. Reflections that were ready for the same are dropped.
CREATE FUNCTION recollect.activate_observations(
    p_tenant text, p_actor text, p_thread uuid, p_generation bigint, p_numbers bigint[],
    -- ok, thread_not_found, stale or misplaced.
    OUT status text, OUT number bigint, OUT generation bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_item record;
    v_numbers bigint[] := ARRAY(SELECT DISTINCT n FROM unnest(p_numbers) AS u (n) ORDER BY n);
BEGIN
    status := recollect.distill_lock(p_tenant, p_actor, p_thread, 'observation', p_generation);
    IF status <> 'ok' THEN
        RETURN;
    END IF;
    SELECT count(*) AS found, max(d.number) AS last,
        bool_or(d.active OR d.reflects IS NOT NULL
            AND recollect.is_reflected(p_tenant, p_thread, d.branch, d.to_depth, d.reflects)) AS misplaced,
        count(*) FILTER (WHERE EXISTS (
            SELECT FROM recollect.distillates o
            WHERE o.tenant_id = p_tenant AND o.thread_id = p_thread AND o.kind = 'observation'
                AND o.number = ANY (v_numbers) AND o.number <> d.number AND o.reflects && d.reflects)) AS rivals
    INTO v_item
    FROM recollect.distillates d
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation' AND d.number = ANY (v_numbers);
    IF v_item.found = 0 OR v_item.found < cardinality(v_numbers) OR v_item.misplaced OR v_item.rivals > 0 THEN
        status := 'misplaced';
        RETURN;
    END IF;
    UPDATE recollect.distillates d
    SET active = true
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation' AND d.number = ANY (v_numbers);
    DELETE FROM recollect.distillates d
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation' AND NOT d.active
        AND EXISTS (
            SELECT FROM recollect.distillates o
            WHERE o.tenant_id = p_tenant AND o.thread_id = p_thread AND o.kind = 'observation'
                AND o.number = ANY (v_numbers) AND o.reflects && d.reflects);
    UPDATE recollect.threads t
    SET observation_generation = t.observation_generation + 1
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
    RETURNING t.observation_generation INTO generation;
    number := v_item.last;
    PERFORM recollect.note(p_tenant, 'activate_observations', p_thread,
        array_to_string(v_numbers[1:20], ','), v_item.found);
END;
$$;

-- Stores a reflection on observations that are active and that no other
-- reflection stands for on their path.
CREATE FUNCTION recollect.commit_reflection(
    p_tenant text, p_actor text, p_thread uuid, p_generation bigint,
    p_reflects bigint[], p_text text, p_tokens integer, p_made_by text, p_active boolean,
    -- ok, thread_not_found, stale or misplaced.
    OUT status text, OUT number bigint, OUT generation bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_last record;
    v_size record;
    v_all bigint[];
BEGIN
    status := recollect.distill_lock(p_tenant, p_actor, p_thread, 'observation', p_generation);
    IF status <> 'ok' THEN
        RETURN;
    END IF;
    v_all := ARRAY(
        SELECT DISTINCT u.number FROM (
            SELECT unnest(p_reflects) AS number
            UNION ALL
            SELECT unnest(d.reflects)
            FROM recollect.distillates d
            WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation'
                AND d.number = ANY (p_reflects)
        ) AS u
        ORDER BY u.number);
    SELECT d.branch, d.to_depth, d.last_id INTO v_last
    FROM recollect.distillates d
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation' AND d.number = ANY (v_all)
        AND d.reflects IS NULL
    ORDER BY d.to_depth DESC, d.number DESC
    LIMIT 1;
    SELECT count(*) AS found, bool_and(d.active AND EXISTS (
            SELECT FROM recollect.path(p_tenant, p_thread, v_last.branch, v_last.to_depth) way
            WHERE way.branch = d.branch AND way.depth >= d.to_depth)) AS placed,
        sum(d.message_count) FILTER (WHERE d.reflects IS NULL) AS message_count,
        sum(d.message_tokens) FILTER (WHERE d.reflects IS NULL) AS message_tokens,
        (array_agg(d.first_id ORDER BY d.to_depth) FILTER (WHERE d.reflects IS NULL))[1] AS first_id
    INTO v_size
    FROM recollect.distillates d
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation' AND d.number = ANY (v_all);
    IF p_text = '' OR v_last.branch IS NULL OR v_size.found < cardinality(v_all) OR NOT v_size.placed
        OR recollect.is_reflected(p_tenant, p_thread, v_last.branch, v_last.to_depth, v_all)
    THEN
        status := 'misplaced';
        RETURN;
    END IF;
    UPDATE recollect.threads t
    SET observation_generation = t.observation_generation + 1, last_observation = t.last_observation + 1
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
    RETURNING t.last_observation, t.observation_generation INTO number, generation;
    IF p_active THEN
        DELETE FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation' AND NOT d.active
            AND d.reflects && v_all;
    END IF;
    INSERT INTO recollect.distillates
        (tenant_id, thread_id, kind, number, branch, after_depth, to_depth, text, tokens, made_by, active, reflects,
         message_count, message_tokens, first_id, last_id)
    VALUES
        (p_tenant, p_thread, 'observation', number, v_last.branch, v_last.to_depth, v_last.to_depth,
         p_text, p_tokens, p_made_by, p_active, v_all,
         v_size.message_count, v_size.message_tokens, v_size.first_id, v_last.last_id);
    PERFORM recollect.note(p_tenant, 'reflect', p_thread, number::text, cardinality(v_all));
END;
$$;

-- Erases what was derived from a message that has just been erased, under the
-- lock of its thread, and asks for it to be made anew from what is left.
CREATE FUNCTION recollect.erase_distillates(p_tenant text, p_thread uuid, p_branch integer, p_depth integer)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    -- The branches whose way passes the message.
    v_below integer[];
    v_gone bigint[];
    v_copies bigint[];
    v_touched bigint[];
    v_item record;
    v_base record;
    v_branch integer;
    v_depth integer;
BEGIN
    v_below := ARRAY(
        SELECT d.branch
        FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread
            AND d.to_depth >= p_depth AND d.after_depth <= p_depth
        GROUP BY d.branch
        HAVING EXISTS (
            SELECT FROM recollect.path(p_tenant, p_thread, d.branch, min(d.to_depth)) way
            WHERE way.branch = p_branch AND way.depth >= p_depth));
    IF v_below = '{}' THEN
        RETURN;
    END IF;

    WITH erased AS (
        DELETE FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation' AND d.reflects IS NULL
            AND d.branch = ANY (v_below) AND d.after_depth < p_depth AND d.to_depth >= p_depth
        RETURNING d.number
    )
    SELECT array_agg(erased.number) INTO v_gone FROM erased;
    IF v_gone IS NOT NULL THEN
        DELETE FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'observation' AND d.reflects && v_gone;
        PERFORM recollect.want_distill(p_tenant, p_thread);
    END IF;

    -- What sets messages aside was not made of them, and stays.
    v_touched := ARRAY(
        SELECT d.number
        FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND d.sets_aside
            AND d.branch = ANY (v_below) AND d.after_depth < p_depth AND d.to_depth >= p_depth);
    WITH RECURSIVE erased (number, sets_aside) AS (
        SELECT d.number, d.sets_aside
        FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND NOT d.sets_aside
            AND d.branch = ANY (v_below) AND d.after_depth < p_depth AND d.to_depth >= p_depth
        UNION
        SELECT d.number, d.sets_aside
        FROM erased
        JOIN recollect.distillates d
            ON d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary'
            AND d.based_on = erased.number AND NOT d.own_text
    )
    SELECT array_agg(erased.number) FILTER (WHERE NOT erased.sets_aside),
        array_agg(erased.number) FILTER (WHERE erased.sets_aside)
    INTO v_gone, v_copies
    FROM erased;
    -- What was left out stays out; the text that went with it was made of the message.
    UPDATE recollect.distillates d
    SET text = '', tokens = 0
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND d.number = ANY (v_copies);
    IF v_gone IS NOT NULL THEN
        -- A text of its own stays. It takes the place of those before it, whose
        -- messages nobody expects to come back.
        FOR v_item IN
            SELECT d.number, d.based_on
            FROM recollect.distillates d
            WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary'
                AND d.based_on = ANY (v_gone) AND NOT d.number = ANY (v_gone)
        LOOP
            v_base := v_item;
            WHILE v_base.based_on = ANY (v_gone) LOOP
                SELECT d.number, d.based_on, d.after_depth INTO v_base
                FROM recollect.distillates d
                WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary'
                    AND d.number = v_base.based_on;
            END LOOP;
            UPDATE recollect.distillates d
            SET based_on = v_base.based_on, after_depth = v_base.after_depth,
                sets_aside = d.sets_aside OR d.after_depth = d.to_depth
            WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary'
                AND d.number = v_item.number;
            v_touched := v_touched || v_item.number;
        END LOOP;
        DELETE FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND d.number = ANY (v_gone);
        PERFORM recollect.want_distill(p_tenant, p_thread);
    END IF;

    -- What ends at the message ends at the nearest one before it now: its place
    -- may be taken by another message.
    FOR v_item IN
        SELECT d.number
        FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary'
            AND d.branch = p_branch AND d.to_depth = p_depth
        ORDER BY d.number
    LOOP
        SELECT d.after_depth, d.based_on INTO v_base
        FROM recollect.distillates d
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND d.number = v_item.number;
        SELECT m.branch, m.depth INTO v_branch, v_depth
        FROM recollect.path(p_tenant, p_thread, p_branch, p_depth) way
        JOIN recollect.messages m
            ON m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = way.branch
            AND m.depth > way.above AND m.depth <= way.depth AND m.depth > v_base.after_depth AND m.depth < p_depth
            AND m.deleted_at IS NULL
        ORDER BY m.depth DESC
        LIMIT 1;
        IF NOT FOUND THEN
            SELECT d.branch, d.to_depth INTO v_branch, v_depth
            FROM recollect.distillates d
            WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary'
                AND d.number = v_base.based_on;
            v_branch := COALESCE(v_branch, 0);
            v_depth := COALESCE(v_depth, 0);
        END IF;
        UPDATE recollect.distillates d
        SET branch = v_branch, to_depth = v_depth, after_depth = LEAST(d.after_depth, v_depth)
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND d.number = v_item.number;
        UPDATE recollect.distillates d
        SET after_depth = v_depth
        WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND d.based_on = v_item.number;
        v_touched := v_touched || v_item.number;
    END LOOP;

    UPDATE recollect.distillates d
    SET message_count = size.message_count, message_tokens = size.message_tokens,
        first_id = size.first_id, last_id = size.last_id
    FROM recollect.distillates s
    CROSS JOIN LATERAL recollect.measure_stretch(p_tenant, p_thread, s.branch, s.after_depth, s.to_depth) AS size
    WHERE d.tenant_id = p_tenant AND d.thread_id = p_thread AND d.kind = 'summary' AND d.number = ANY (v_touched)
        AND s.tenant_id = p_tenant AND s.thread_id = p_thread AND s.kind = 'summary' AND s.number = d.number;
END;
$$;

-- Erases all that was derived from the messages of a thread.
CREATE FUNCTION recollect.forget_distillates(p_tenant text, p_thread uuid)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    DELETE FROM recollect.distillates WHERE tenant_id = p_tenant AND thread_id = p_thread;
    DELETE FROM recollect.distill_jobs WHERE tenant_id = p_tenant AND thread_id = p_thread;
END;
$$;

-- Ends a worker's look at a thread; p_next is the size of the path at which the
-- next one is due, and p_after the seconds after which it is at the latest, null
-- where only the size counts. Whether nobody wants one before that: what came
-- since the job was claimed is not lost.
CREATE FUNCTION recollect.distill_done(
    p_tenant text, p_thread uuid, p_lease uuid, p_wanted bigint, p_next bigint, p_after double precision
)
RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_path bigint;
    v_wanted bigint;
BEGIN
    -- A crash of the machine costs another look: nobody waits for the disk, and no
    -- append for the thread's row until then.
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('synchronous_commit', 'off', true);
    -- In the order in which an append takes both.
    SELECT t.path_tokens INTO v_path
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
    FOR NO KEY UPDATE;
    SELECT j.wanted INTO v_wanted
    FROM recollect.distill_jobs j
    WHERE j.tenant_id = p_tenant AND j.thread_id = p_thread AND j.lease_id = p_lease
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF v_path IS NULL OR (v_wanted = p_wanted AND v_path < p_next) THEN
        UPDATE recollect.threads SET distill_at = p_next WHERE tenant_id = p_tenant AND thread_id = p_thread;
        IF p_after IS NULL OR v_path IS NULL THEN
            DELETE FROM recollect.distill_jobs WHERE tenant_id = p_tenant AND thread_id = p_thread;
        ELSE
            -- It waits from then on, and counts as new.
            UPDATE recollect.distill_jobs
            SET lease_id = NULL, available_at = clock_timestamp() + make_interval(secs => p_after),
                created_at = clock_timestamp() + make_interval(secs => p_after),
                attempts = 0, last_error = '', failing_since = NULL
            WHERE tenant_id = p_tenant AND thread_id = p_thread;
        END IF;
        RETURN true;
    END IF;
    UPDATE recollect.distill_jobs
    SET lease_id = NULL, available_at = clock_timestamp(), created_at = clock_timestamp(),
        attempts = 0, last_error = '', failing_since = NULL
    WHERE tenant_id = p_tenant AND thread_id = p_thread;
    RETURN false;
END;
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA recollect FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA recollect TO recollect_service;
