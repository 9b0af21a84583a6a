-- Memories of nodes. Their messages are in object storage; here are the turns
-- that wait to be folded into an object, and what has to be known without
-- reading it.
CREATE TABLE recollect.node_memories (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    node_id text NOT NULL,
    -- The order of first use. A memory that was cleared and used again has
    -- another one.
    ordinal bigint GENERATED ALWAYS AS IDENTITY,
    object_key text NOT NULL,
    -- Whether what is under the key belongs to this memory. Otherwise it is
    -- stale, whatever it is.
    has_object boolean NOT NULL DEFAULT false,
    -- The version that was written last.
    etag text NOT NULL DEFAULT '',
    -- The object's JSON, before compression.
    size_bytes bigint NOT NULL DEFAULT 0,
    last_message_id text,
    message_count bigint NOT NULL DEFAULT 0,
    waiting_count bigint NOT NULL DEFAULT 0,
    waiting_bytes bigint NOT NULL DEFAULT 0,
    -- When the oldest waiting turn was added.
    waiting_since timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    flushed_at timestamptz,
    expires_at timestamptz,
    -- What kept the last flush from succeeding, and how often in a row.
    last_error text NOT NULL DEFAULT '',
    failed_at timestamptz,
    failures integer NOT NULL DEFAULT 0,
    -- When a worker tries again.
    retry_at timestamptz,
    PRIMARY KEY (tenant_id, thread_id, node_id)
) WITH (fillfactor = 70);

CREATE INDEX node_memories_by_ordinal ON recollect.node_memories (tenant_id, thread_id, ordinal);
CREATE INDEX node_memories_waiting ON recollect.node_memories (waiting_since) WHERE waiting_since IS NOT NULL;
CREATE INDEX node_memories_by_expiry ON recollect.node_memories (expires_at) WHERE expires_at IS NOT NULL;

-- Turns that are in no object yet.
CREATE TABLE recollect.node_turns (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    node_id text NOT NULL,
    -- The order of adding, within the node.
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- What the user's message follows; null at a root.
    parent_id text,
    -- Both messages.
    messages json NOT NULL,
    bytes integer NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, thread_id, node_id, id)
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 2000
);

-- The ids of all messages of a node's memory, without what they say.
CREATE TABLE recollect.node_messages (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    node_id text NOT NULL,
    message_id text NOT NULL,
    parent_id text,
    role text NOT NULL,
    -- The id as that of a message of the thread, where it may be one.
    thread_message_id uuid,
    PRIMARY KEY (tenant_id, thread_id, node_id, message_id)
);

CREATE INDEX node_messages_by_parent ON recollect.node_messages (tenant_id, thread_id, node_id, parent_id);

-- The first answers to request ids.
CREATE TABLE recollect.node_requests (
    tenant_id text NOT NULL,
    request_id uuid NOT NULL,
    thread_id uuid NOT NULL,
    node_id text NOT NULL,
    content_hash bytea NOT NULL,
    user_message_id text NOT NULL,
    assistant_message_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, request_id)
);

CREATE INDEX node_requests_by_node ON recollect.node_requests (tenant_id, thread_id, node_id);
CREATE INDEX node_requests_by_age ON recollect.node_requests USING brin (created_at);

-- Copies of objects that could not be read.
CREATE TABLE recollect.node_copies (
    tenant_id text NOT NULL,
    thread_id uuid NOT NULL,
    node_id text NOT NULL,
    object_key text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, thread_id, node_id, object_key)
);

-- Objects to erase. Nothing of them can be read any more.
CREATE TABLE recollect.object_deletions (
    tenant_id text NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    thread_id uuid NOT NULL,
    node_id text NOT NULL,
    object_key text NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    last_error text NOT NULL DEFAULT '',
    -- Not to be claimed before; the end of the lease while there is one.
    available_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, id)
);

CREATE INDEX object_deletions_by_time ON recollect.object_deletions (available_at);
CREATE INDEX object_deletions_by_node ON recollect.object_deletions (tenant_id, thread_id, node_id);

SELECT recollect.isolate(
    'node_memories', 'node_turns', 'node_messages', 'node_requests', 'node_copies', 'object_deletions');
GRANT SELECT, INSERT, UPDATE, DELETE
    ON recollect.node_memories, recollect.node_turns, recollect.node_messages, recollect.node_requests,
        recollect.node_copies, recollect.object_deletions
    TO recollect_service;

-- Workers see which memories need them, and no turn.
CREATE POLICY worker ON recollect.node_memories FOR SELECT TO recollect_worker USING (true);
GRANT SELECT (tenant_id, thread_id, node_id, waiting_count, waiting_since, expires_at, failures, retry_at)
    ON recollect.node_memories TO recollect_worker;
CREATE POLICY worker ON recollect.node_requests TO recollect_worker USING (true);
GRANT SELECT (tenant_id, request_id, created_at), DELETE ON recollect.node_requests TO recollect_worker;
CREATE POLICY worker ON recollect.object_deletions TO recollect_worker USING (true);
GRANT SELECT, UPDATE ON recollect.object_deletions TO recollect_worker;

-- Erases the memory of one node, and queues the deletion of its object. Whether
-- there was one, and how many messages it had.
--
-- The row goes first: whoever adds a turn holds it, so what they have added by
-- then is erased too, and who comes later begins anew.
CREATE FUNCTION recollect.erase_node(p_tenant text, p_thread uuid, p_node text, OUT existed boolean, OUT message_count bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_key text;
BEGIN
    DELETE FROM recollect.node_memories n
    WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node
    RETURNING n.object_key, n.message_count INTO v_key, message_count;
    existed := FOUND;
    message_count := COALESCE(message_count, 0);
    DELETE FROM recollect.node_turns WHERE tenant_id = p_tenant AND thread_id = p_thread AND node_id = p_node;
    DELETE FROM recollect.node_messages WHERE tenant_id = p_tenant AND thread_id = p_thread AND node_id = p_node;
    DELETE FROM recollect.node_requests WHERE tenant_id = p_tenant AND thread_id = p_thread AND node_id = p_node;
    IF existed THEN
        -- Also where no object is known: a write may be under way.
        INSERT INTO recollect.object_deletions (tenant_id, thread_id, node_id, object_key)
        VALUES (p_tenant, p_thread, p_node, v_key);
    END IF;
END;
$$;

-- Erases the memories of all nodes of a thread, copies included.
CREATE FUNCTION recollect.erase_nodes(p_tenant text, p_thread uuid)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM recollect.erase_node(p_tenant, p_thread, n.node_id)
    FROM recollect.node_memories n
    WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread;
    WITH copies AS (
        DELETE FROM recollect.node_copies c
        WHERE c.tenant_id = p_tenant AND c.thread_id = p_thread
        RETURNING c.node_id, c.object_key
    )
    INSERT INTO recollect.object_deletions (tenant_id, thread_id, node_id, object_key)
    SELECT p_tenant, p_thread, copies.node_id, copies.object_key FROM copies;
END;
$$;

-- Clears the memory of a node, because somebody asks for it.
CREATE FUNCTION recollect.clear_node_memory(
    p_tenant text, p_actor text, p_thread uuid, p_node text,
    OUT status text, OUT message_count bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_existed boolean;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    PERFORM FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp());
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN;
    END IF;
    SELECT e.existed, e.message_count INTO v_existed, message_count
    FROM recollect.erase_node(p_tenant, p_thread, p_node) e;
    IF v_existed THEN
        PERFORM recollect.note(p_tenant, 'clear_node_memory', p_thread, p_node, message_count);
    END IF;
    status := 'ok';
END;
$$;

-- Erases a memory that has expired, with its copies.
CREATE FUNCTION recollect.expire_node_memory(p_tenant text, p_actor text, p_thread uuid, p_node text)
RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_count bigint;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    -- Locked, so that nobody prolongs its life meanwhile.
    PERFORM FROM recollect.node_memories n
    WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node
        AND n.expires_at <= clock_timestamp()
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT e.message_count INTO v_count FROM recollect.erase_node(p_tenant, p_thread, p_node) e;
    WITH copies AS (
        DELETE FROM recollect.node_copies c
        WHERE c.tenant_id = p_tenant AND c.thread_id = p_thread AND c.node_id = p_node
        RETURNING c.object_key
    )
    INSERT INTO recollect.object_deletions (tenant_id, thread_id, node_id, object_key)
    SELECT p_tenant, p_thread, p_node, copies.object_key FROM copies;
    PERFORM recollect.note(p_tenant, 'expire_node_memory', p_thread, p_node, v_count);
    RETURN true;
END;
$$;

-- Adds a turn to the memory of a node: one call, one transaction. Turns of one
-- node queue at its row, for as long as this takes; nobody waits for a flush.
CREATE FUNCTION recollect.add_node_turn(
    p_tenant text, p_actor text, p_thread uuid, p_node text, p_key text,
    -- The parent: an id, or null for the message added last; p_root for none.
    p_parent text, p_root boolean,
    p_user text, p_assistant text, p_user_uuid uuid, p_assistant_uuid uuid,
    p_messages json, p_bytes integer, p_max_bytes bigint, p_ttl_seconds double precision,
    p_request uuid, p_hash bytea,
    -- ok, replayed, request_reused, thread_not_found, parent_not_found,
    -- message_exists (fault_id: the message) or full.
    OUT status text, OUT fault_id text, OUT user_id text, OUT assistant_id text
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_node record;
    v_new boolean := false;
    v_request record;
    v_parent text;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    -- Not to be deleted meanwhile; appends go on.
    PERFORM FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
        AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp())
    FOR KEY SHARE;
    IF NOT FOUND THEN
        status := 'thread_not_found';
        RETURN;
    END IF;

    LOOP
        SELECT n.last_message_id, n.size_bytes + n.waiting_bytes AS bytes,
            n.expires_at <= clock_timestamp() AS expired
        INTO v_node
        FROM recollect.node_memories n
        WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node
        FOR UPDATE;
        IF FOUND THEN
            EXIT WHEN v_node.expired IS NOT TRUE;
            -- Its time ended it, not who comes now.
            PERFORM recollect.expire_node_memory(p_tenant, 'worker', p_thread, p_node);
            PERFORM set_config('recollect.actor', p_actor, true);
        END IF;
        INSERT INTO recollect.node_memories (tenant_id, thread_id, node_id, object_key)
        VALUES (p_tenant, p_thread, p_node, p_key)
        ON CONFLICT DO NOTHING;
        v_new := FOUND;
    END LOOP;

    <<store>>
    BEGIN
        IF p_request IS NOT NULL THEN
            SELECT r.content_hash, r.user_message_id, r.assistant_message_id INTO v_request
            FROM recollect.node_requests r
            WHERE r.tenant_id = p_tenant AND r.request_id = p_request;
            IF FOUND THEN
                status := CASE WHEN v_request.content_hash = p_hash THEN 'replayed' ELSE 'request_reused' END;
                user_id := v_request.user_message_id;
                assistant_id := v_request.assistant_message_id;
                EXIT store;
            END IF;
        END IF;

        v_parent := CASE WHEN p_root THEN NULL ELSE COALESCE(p_parent, v_node.last_message_id) END;
        IF p_parent IS NOT NULL THEN
            PERFORM FROM recollect.node_messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.node_id = p_node
                AND m.message_id = p_parent;
            IF NOT FOUND THEN
                status := 'parent_not_found';
                EXIT store;
            END IF;
        END IF;
        SELECT m.message_id INTO fault_id
        FROM recollect.node_messages m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.node_id = p_node
            AND m.message_id IN (p_user, p_assistant)
        LIMIT 1;
        IF FOUND THEN
            status := 'message_exists';
            EXIT store;
        END IF;
        IF v_node.bytes + p_bytes > p_max_bytes THEN
            status := 'full';
            EXIT store;
        END IF;
        IF p_request IS NOT NULL THEN
            INSERT INTO recollect.node_requests
                (tenant_id, request_id, thread_id, node_id, content_hash, user_message_id, assistant_message_id)
            VALUES (p_tenant, p_request, p_thread, p_node, p_hash, p_user, p_assistant)
            ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN
                -- The same id came for another node just now.
                status := 'request_reused';
                EXIT store;
            END IF;
        END IF;
        INSERT INTO recollect.node_messages
            (tenant_id, thread_id, node_id, message_id, parent_id, role, thread_message_id)
        VALUES
            (p_tenant, p_thread, p_node, p_user, v_parent, 'user', p_user_uuid),
            (p_tenant, p_thread, p_node, p_assistant, p_user, 'assistant', p_assistant_uuid);
        INSERT INTO recollect.node_turns (tenant_id, thread_id, node_id, parent_id, messages, bytes)
        VALUES (p_tenant, p_thread, p_node, v_parent, p_messages, p_bytes);
        UPDATE recollect.node_memories n
        SET last_message_id = p_assistant,
            message_count = n.message_count + 2,
            waiting_count = n.waiting_count + 1,
            waiting_bytes = n.waiting_bytes + p_bytes,
            waiting_since = COALESCE(n.waiting_since, clock_timestamp()),
            updated_at = clock_timestamp(),
            expires_at = clock_timestamp() + make_interval(secs => p_ttl_seconds)
        WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node;
        PERFORM recollect.note(p_tenant, 'add_node_turn', p_thread, p_node, 1);
        status := 'ok';
        user_id := p_user;
        assistant_id := p_assistant;
        RETURN;
    END;
    -- Nothing was stored: an empty memory is none.
    IF v_new THEN
        DELETE FROM recollect.node_memories
        WHERE tenant_id = p_tenant AND thread_id = p_thread AND node_id = p_node;
    END IF;
END;
$$;

-- Takes note of an object that has been written: p_turns are in it. False where
-- the memory was erased meanwhile, also where it was used again since.
CREATE FUNCTION recollect.node_flushed(
    p_tenant text, p_thread uuid, p_node text, p_ordinal bigint, p_turns bigint[], p_etag text, p_size bigint
)
RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_count bigint;
    v_bytes bigint;
BEGIN
    -- Whoever adds a turn just now is done first.
    PERFORM FROM recollect.node_memories n
    WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node AND n.ordinal = p_ordinal
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    WITH folded AS (
        DELETE FROM recollect.node_turns t
        WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread AND t.node_id = p_node AND t.id = ANY (p_turns)
        RETURNING t.bytes
    )
    SELECT count(*), COALESCE(sum(folded.bytes), 0) INTO v_count, v_bytes FROM folded;
    UPDATE recollect.node_memories n
    SET has_object = true, etag = p_etag, size_bytes = p_size,
        waiting_count = n.waiting_count - v_count,
        waiting_bytes = n.waiting_bytes - v_bytes,
        waiting_since = (
            SELECT t.created_at FROM recollect.node_turns t
            WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread AND t.node_id = p_node
            ORDER BY t.id
            LIMIT 1),
        flushed_at = clock_timestamp(), last_error = '', failed_at = NULL, failures = 0, retry_at = NULL
    WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node;
    IF v_count > 0 THEN
        PERFORM recollect.note(p_tenant, 'flush_node_memory', p_thread, p_node, v_count);
    END IF;
    RETURN true;
END;
$$;

-- Brings the index of ids in line with an object that somebody else has
-- written; what waits stays in it.
CREATE FUNCTION recollect.node_reindexed(
    p_tenant text, p_thread uuid, p_node text, p_ordinal bigint,
    p_ids text[], p_parents text[], p_roles text[], p_uuids uuid[]
)
RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM FROM recollect.node_memories n
    WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node AND n.ordinal = p_ordinal
    FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    DELETE FROM recollect.node_messages m
    WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.node_id = p_node
        AND m.message_id <> ALL (p_ids)
        AND NOT EXISTS (
            SELECT FROM recollect.node_turns t
            WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread AND t.node_id = p_node
                AND (t.messages -> 0 ->> 'message_id' = m.message_id
                     OR t.messages -> 1 ->> 'message_id' = m.message_id));
    INSERT INTO recollect.node_messages
        (tenant_id, thread_id, node_id, message_id, parent_id, role, thread_message_id)
    SELECT p_tenant, p_thread, p_node, f.id, f.parent, f.role, f.thread_message_id
    FROM unnest(p_ids, p_parents, p_roles, p_uuids) AS f (id, parent, role, thread_message_id)
    ON CONFLICT DO NOTHING;
    UPDATE recollect.node_memories n
    SET message_count = (
            SELECT count(*) FROM recollect.node_messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.node_id = p_node),
        -- What follows next must be there.
        last_message_id = CASE WHEN EXISTS (
                SELECT FROM recollect.node_messages m
                WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.node_id = p_node
                    AND m.message_id = n.last_message_id)
            THEN n.last_message_id ELSE p_ids[cardinality(p_ids)] END
    WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node;
END;
$$;

-- The message of a node's memory that a message of the thread stands for: the
-- nearest one on the way to the root. Status: ok (node_message_id is null where
-- there is none) or message_not_found.
CREATE FUNCTION recollect.nearest_node_message(
    p_tenant text, p_thread uuid, p_node text, p_message uuid,
    OUT status text, OUT node_message_id text
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_branch integer;
    v_depth integer;
    v_branches integer[] := '{}';
    v_depths integer[] := '{}';
    v_role text;
BEGIN
    SELECT m.branch, m.depth INTO v_branch, v_depth
    FROM recollect.messages m
    WHERE m.tenant_id = p_tenant AND m.message_id = p_message
        AND m.thread_id = p_thread AND m.deleted_at IS NULL;
    IF NOT FOUND THEN
        status := 'message_not_found';
        RETURN;
    END IF;
    status := 'ok';
    -- No way is longer in practice; it bounds the work.
    WHILE v_branch > 0 AND cardinality(v_branches) < 10000 LOOP
        v_branches := v_branches || v_branch;
        v_depths := v_depths || v_depth;
        SELECT COALESCE(b.parent_branch, 0), LEAST(b.fork_depth, v_depth) INTO STRICT v_branch, v_depth
        FROM recollect.branches b
        WHERE b.tenant_id = p_tenant AND b.thread_id = p_thread AND b.branch = v_branch;
    END LOOP;
    SELECT n.message_id, n.role INTO node_message_id, v_role
    FROM recollect.node_messages n
    JOIN recollect.messages m
        ON m.tenant_id = p_tenant AND m.message_id = n.thread_message_id AND m.thread_id = p_thread
    JOIN unnest(v_branches, v_depths) AS way (branch, depth)
        ON m.branch = way.branch AND m.depth <= way.depth
    WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node
        AND n.thread_message_id IS NOT NULL
    ORDER BY m.depth DESC
    LIMIT 1;
    IF v_role = 'user' THEN
        -- Its answer was given by the time that a later message came.
        SELECT COALESCE((
            SELECT n.message_id FROM recollect.node_messages n
            WHERE n.tenant_id = p_tenant AND n.thread_id = p_thread AND n.node_id = p_node
                AND n.parent_id = node_message_id AND n.role = 'assistant'
            LIMIT 1), node_message_id)
        INTO node_message_id;
    END IF;
END;
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA recollect FROM PUBLIC;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA recollect TO recollect_service;
