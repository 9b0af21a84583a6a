-- Erases memories with their index entries. Chains of memories that superseded each
-- other are joined where these are missing. The caller holds lock_memories of their
-- owners.
CREATE OR REPLACE FUNCTION recollect.erase_memories(
    p_tenant text, p_memories uuid[],
    -- The queue of one of the users, and the revision of the last change in it.
    OUT queue uuid, OUT revision bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    WITH RECURSIVE chain (memory_id, superseded_by) AS (
        SELECT m.memory_id, m.superseded_by FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.superseded_by = ANY (p_memories) AND m.memory_id <> ALL (p_memories)
        UNION
        SELECT chain.memory_id, m.superseded_by
        FROM chain
        JOIN recollect.memories m ON m.tenant_id = p_tenant AND m.memory_id = chain.superseded_by
        WHERE chain.superseded_by = ANY (p_memories)
    )
    UPDATE recollect.memories m
    SET superseded_by = chain.superseded_by
    FROM chain
    WHERE m.tenant_id = p_tenant AND m.memory_id = chain.memory_id
        -- The first memory of the chain that stays, or none.
        AND (chain.superseded_by = ANY (p_memories)) IS NOT TRUE;
    DELETE FROM recollect.memory_sources s WHERE s.tenant_id = p_tenant AND s.memory_id = ANY (p_memories);
    WITH gone AS (
        DELETE FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.memory_id = ANY (p_memories)
        RETURNING m.memory_id, recollect.memory_queue(p_tenant, m.app_id, m.user_id) AS queue
    ),
    unqueued AS (
        -- Not what a worker has claimed: if it dies, its replay finds the memory
        -- gone.
        DELETE FROM recollect.outbox o
        USING gone
        WHERE o.tenant_id = p_tenant AND o.thread_id = gone.queue AND o.message_id = gone.memory_id
            AND o.kind = 'memory' AND o.lease_id IS NULL
    ),
    queued AS (
        INSERT INTO recollect.outbox (tenant_id, thread_id, message_id, seq, op, kind)
        SELECT p_tenant, gone.queue, gone.memory_id, 0, 'delete', 'memory' FROM gone
        RETURNING thread_id, id
    )
    SELECT queued.thread_id, queued.id INTO queue, revision
    FROM queued
    ORDER BY queued.id DESC
    LIMIT 1;
END;
$$;
