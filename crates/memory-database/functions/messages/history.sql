-- Reads the messages from a head (p_head names it; null: the thread's) back along its
-- parents, the newest first. Where older messages remain, the instructions follow, with the
-- status instruction: of the system messages that begin the path, the first
-- p_max_instructions, also if they were returned. Then comes one row without a message, with
-- the status (ok, thread_not_found, message_not_found, unchanged), whether older messages remain, and the number and the
-- tokens of all readable messages of the path. Where messages of the thread were erased,
-- all messages of the path are counted, also the older ones that are not returned.
--
-- That row also has the values that the path to the thread's head depends on: last_seq,
-- message_count, update_count and head_id. While these stay, so does the path: messages come, with a new seq,
-- go, and are updated. Where they equal p_known_…, nothing else is read, and the status is
-- unchanged.
--
-- Stable, so that all of it is read as of one moment: an erasure meanwhile takes no branch
-- out of the walk. The use of an ephemeral thread is written by a function of its own.
--
-- Stops after p_max_rows messages or p_max_bytes of content, or, once the tokens exceed
-- p_max_tokens, at the start of the turn that it is in: turns are kept or dropped whole.
-- Each branch on the path is a backward scan of one index, and the walk stops with the
-- messages, so the cost depends on the messages returned.
CREATE OR REPLACE FUNCTION recollect.history(
    p_tenant text, p_thread uuid, p_head text, p_max_tokens bigint, p_max_rows integer,
    p_max_bytes bigint, p_max_instructions integer,
    p_known_seq bigint DEFAULT NULL, p_known_count bigint DEFAULT NULL, p_known_head uuid DEFAULT NULL,
    p_known_updates bigint DEFAULT NULL
)
RETURNS TABLE (
    status text, older boolean,
    message recollect.message,
    last_seq bigint, message_count bigint, update_count bigint, head_id uuid, path_messages bigint, path_tokens bigint
)
LANGUAGE plpgsql STABLE
-- The index has the order. A plan that sorts would read the whole branch, and outdated
-- statistics of a new table could suggest one.
SET enable_sort = off SET enable_bitmapscan = off SET enable_seqscan = off
AS $$
#variable_conflict use_column
DECLARE
    v_thread record;
    v_branch integer;
    v_depth integer;
    v_head_branch integer;
    v_head_depth integer;
    v_rows integer := 0;
    v_tokens bigint := 0;
    v_bytes bigint := 0;
    v_message record;
    v_last_role text := '';
    v_older boolean := false;
    v_oldest integer;
    v_rest record;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    SELECT t.last_seq, t.message_count, t.update_count, t.head_id, t.head_branch, t.head_depth, t.path_tokens, t.idle_ttl
    INTO v_thread
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
    IF v_thread.last_seq = p_known_seq AND v_thread.message_count = p_known_count
        AND v_thread.update_count = p_known_updates AND v_thread.head_id IS NOT DISTINCT FROM p_known_head
    THEN
        status := 'unchanged';
        RETURN NEXT;
        RETURN;
    END IF;
    v_branch := v_thread.head_branch;
    v_depth := v_thread.head_depth;
    path_tokens := v_thread.path_tokens;
    IF p_head IS NOT NULL THEN
        SELECT m.branch, m.depth, m.path_tokens INTO v_branch, v_depth, path_tokens
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.message_id = recollect.named_message(p_tenant, p_thread, p_head);
        IF NOT FOUND THEN
            status := 'message_not_found';
            RETURN NEXT;
            RETURN;
        END IF;
    END IF;
    path_messages := v_depth;
    v_head_branch := v_branch;
    v_head_depth := v_depth;

    <<path>>
    WHILE v_branch > 0 LOOP
        FOR v_message IN
            SELECT recollect.readable(m) AS message, m.depth, m.role, m.tokens, m.bytes
            FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread
                AND m.branch = v_branch AND m.depth <= v_depth AND m.deleted_at IS NULL
            ORDER BY m.depth DESC
            LIMIT p_max_rows - v_rows + 1
        LOOP
            IF v_rows = p_max_rows OR v_bytes > p_max_bytes OR (v_tokens > p_max_tokens AND v_last_role = 'user') THEN
                v_older := true;
                v_oldest := v_message.depth;
                EXIT path;
            END IF;
            message := v_message.message;
            RETURN NEXT;
            v_rows := v_rows + 1;
            v_tokens := v_tokens + v_message.tokens;
            v_bytes := v_bytes + v_message.bytes;
            v_last_role := v_message.role;
        END LOOP;
        SELECT p.branch, p.depth INTO STRICT v_branch, v_depth
        FROM recollect.parent_of_branch(p_tenant, p_thread, v_branch, v_depth) p;
    END LOOP;

    IF v_older THEN
        status := 'instruction';
        FOR v_message IN
            SELECT i AS message
            FROM recollect.instructions(p_tenant, p_thread, v_head_branch, v_head_depth, p_max_instructions) i
        LOOP
            message := v_message.message;
            RETURN NEXT;
        END LOOP;
    END IF;

    IF v_thread.last_seq <> v_thread.message_count THEN
        path_messages := v_rows;
        path_tokens := v_tokens;
        IF v_older THEN
            SELECT z.message_count AS messages, z.message_tokens AS tokens INTO v_rest
            FROM recollect.path_arrays(p_tenant, p_thread, v_branch, v_oldest) p
            CROSS JOIN LATERAL recollect.range_size(
                p_tenant, p_thread, false, p.branches, p.above, p.depths, 0, v_oldest) z;
            path_messages := path_messages + v_rest.messages;
            path_tokens := path_tokens + v_rest.tokens;
        END IF;
    END IF;

    message := NULL;
    status := 'ok';
    older := v_older;
    last_seq := v_thread.last_seq;
    message_count := v_thread.message_count;
    update_count := v_thread.update_count;
    head_id := v_thread.head_id;
    RETURN NEXT;
END;
$$;
