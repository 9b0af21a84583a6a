-- What a tenant stores, for its quotas. It reads the tenant's rows of seven tables, and of
-- messages none: a second or two for a million threads that are in memory. Deleted
-- and expired threads do not count; what belongs to them does until it is erased.
CREATE OR REPLACE FUNCTION recollect.storage_usage(
    p_tenant text,
    -- Threads from before bytes were recorded (stored_bytes is null) whose bytes this call counts,
    -- at most: it reads their messages.
    p_uncounted bigint,
    -- Messages of threads and of nodes.
    OUT message_count bigint,
    -- Bytes of messages, attempts, events, checkpoints, node memories, plans, data of working
    -- memories, memories, documents, and content of data: URLs.
    OUT stored_bytes bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_threads record;
    v_nodes record;
    v_uncounted uuid[];
    v_counted numeric;
    v_others numeric;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    SELECT COALESCE(sum(t.message_count), 0) AS messages, COALESCE(sum(t.stored_bytes), 0) AS bytes,
        count(*) FILTER (WHERE t.stored_bytes IS NULL) AS uncounted
    INTO v_threads
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp());
    SELECT COALESCE(sum(n.message_count), 0) AS messages, COALESCE(sum(n.size_bytes + n.waiting_bytes), 0) AS bytes
    INTO v_nodes
    FROM recollect.node_memories n
    WHERE n.tenant_id = p_tenant;
    SELECT COALESCE(sum(o.bytes), 0) INTO v_others
    FROM (
        SELECT sum(octet_length(m.text) + pg_column_size(m.metadata)) FROM recollect.memories m
        WHERE m.tenant_id = p_tenant
        UNION ALL
        SELECT sum(c.size_bytes) FROM recollect.contents c
        WHERE c.tenant_id = p_tenant
        UNION ALL
        SELECT sum(pg_column_size(p.goal) + pg_column_size(p.steps) + pg_column_size(p.data)) FROM recollect.plans p
        WHERE p.tenant_id = p_tenant
        UNION ALL
        SELECT sum(pg_column_size(w.data)) FROM recollect.working_memories w
        WHERE w.tenant_id = p_tenant
        UNION ALL
        SELECT sum(d.size_bytes + octet_length(d.namespace::text) + octet_length(d.key)
            + COALESCE(pg_column_size(d.text), 0) + COALESCE(pg_column_size(d.words), 0)) FROM recollect.documents d
        WHERE d.tenant_id = p_tenant
    ) AS o (bytes);

    IF v_threads.uncounted > 0 THEN
        -- Nothing is added to a thread between its lock and its sum. Those that are locked come
        -- later, so that this waits for no one.
        SELECT array_agg(l.thread_id) INTO v_uncounted
        FROM (
            SELECT t.thread_id FROM recollect.threads t
            WHERE t.tenant_id = p_tenant AND t.stored_bytes IS NULL
                AND t.thread_id = ANY (ARRAY(
                    -- Until they have 50,000 messages: appends to them wait meanwhile.
                    SELECT c.thread_id
                    FROM (
                        SELECT x.thread_id, sum(x.message_count) OVER w - x.message_count AS before
                        FROM (
                            SELECT u.thread_id, u.message_count FROM recollect.threads u
                            WHERE u.tenant_id = p_tenant AND u.stored_bytes IS NULL
                                AND (u.expires_at IS NULL OR u.expires_at > clock_timestamp())
                            LIMIT p_uncounted
                        ) AS x
                        WINDOW w AS (ROWS UNBOUNDED PRECEDING)
                    ) AS c
                    WHERE c.before < 50000))
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS l;
        WITH counted AS (
            UPDATE recollect.threads t
            SET stored_bytes =
                (SELECT COALESCE(sum(m.bytes), 0) FROM recollect.messages m
                 WHERE m.tenant_id = p_tenant AND m.thread_id = t.thread_id)
                + (SELECT COALESCE(sum(i.bytes), 0) FROM recollect.attempts i
                   WHERE i.tenant_id = p_tenant AND i.thread_id = t.thread_id)
                + (SELECT COALESCE(sum(e.bytes), 0) FROM recollect.agent_events e
                   WHERE e.tenant_id = p_tenant AND e.thread_id = t.thread_id)
                + recollect.checkpoint_bytes(p_tenant, t.thread_id)
            WHERE t.tenant_id = p_tenant AND t.thread_id = ANY (v_uncounted)
            RETURNING t.stored_bytes
        )
        SELECT sum(c.stored_bytes) INTO v_counted FROM counted c;
    END IF;
    message_count := v_threads.messages + v_nodes.messages;
    stored_bytes := v_threads.bytes + v_nodes.bytes + v_others + COALESCE(v_counted, 0);
END;
$$;
