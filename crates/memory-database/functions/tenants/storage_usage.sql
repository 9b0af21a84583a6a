-- The size of all that a tenant stores, for its quotas. It reads the tenant's rows of seven tables,
-- and no messages: a second or two for a million threads that are in memory. Deleted
-- and expired threads do not count; rows of other tables that belong to them do until they are
-- erased.
CREATE OR REPLACE FUNCTION recollect.storage_usage(
    p_tenant text,
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
    v_others numeric;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    SELECT COALESCE(sum(t.message_count), 0) AS messages, COALESCE(sum(t.stored_bytes), 0) AS bytes
    INTO v_threads
    FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp());
    SELECT COALESCE(sum(n.message_count), 0) AS messages, COALESCE(sum(n.size_bytes + n.waiting_bytes), 0) AS bytes
    INTO v_nodes
    FROM recollect.node_memories n
    WHERE n.tenant_id = p_tenant;
    SELECT COALESCE(sum(o.bytes), 0) INTO v_others
    FROM (
        SELECT sum(octet_length(m.text) + pg_column_size(m.metadata) + pg_column_size(m.attributes)) FROM recollect.memories m
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
    message_count := v_threads.messages + v_nodes.messages;
    stored_bytes := v_threads.bytes + v_nodes.bytes + v_others;
END;
$$;
