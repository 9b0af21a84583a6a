-- Erases memories with their index entries, and with them the extracted memories that were
-- built on them, unless they are pinned: facts are extracted again from the messages of these.
-- With p_alone, for memories that are too old or too many, the memories built on them stay and
-- inherit their sources. In a chain of memories that superseded each other, the neighbors of an
-- erased one are linked.
-- The caller holds lock_memories of their owners.
CREATE OR REPLACE FUNCTION recollect.erase_memories(
    p_tenant text, p_memories uuid[], p_alone boolean DEFAULT false,
    -- The queue of one of the users, and the revision of the last change in it.
    OUT queue uuid, OUT revision bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_built uuid[];
    v_kept uuid[] := '{}';
    v_bounds text := COALESCE(current_setting('recollect.bounds', true), '');
BEGIN
    WITH RECURSIVE built (memory_id) AS (
        SELECT u.id FROM unnest(p_memories) AS u (id)
        UNION
        SELECT a.memory_id
        FROM built
        JOIN recollect.memory_ancestors a ON a.tenant_id = p_tenant AND a.ancestor_id = built.memory_id
        LEFT JOIN recollect.memories m ON m.tenant_id = p_tenant AND m.memory_id = a.memory_id
        -- A missing one was erased alone, or an import kept another memory in its place.
        WHERE m.memory_id IS NULL OR (m.origin = 'extracted' AND NOT m.pinned)
    )
    SELECT array_agg(built.memory_id) INTO v_built FROM built WHERE NOT built.memory_id = ANY (p_memories);
    IF p_alone THEN
        v_kept := ARRAY(
            SELECT DISTINCT a.ancestor_id FROM recollect.memory_ancestors a
            WHERE a.tenant_id = p_tenant AND a.ancestor_id = ANY (p_memories) AND a.memory_id = ANY (v_built));
    ELSIF v_built IS NOT NULL THEN
        -- The sources may be in a thread of another user, which the caller does not reach.
        PERFORM set_config('recollect.bounds', '', true);
        INSERT INTO recollect.extract_again (tenant_id, thread_id, message_id)
        SELECT DISTINCT p_tenant, s.thread_id, s.message_id
        FROM recollect.memory_sources s
        WHERE s.tenant_id = p_tenant AND s.memory_id = ANY (v_built)
        ON CONFLICT (tenant_id, thread_id, message_id) DO UPDATE SET queued = false;
        PERFORM set_config('recollect.bounds', v_bounds, true);
        PERFORM recollect.audit_of(p_tenant, 'delete_memories', NULL, u.app_id, u.count, u.app_id, u.user_id)
        FROM (SELECT m.app_id, m.user_id, count(*) AS count FROM recollect.memories m
              WHERE m.tenant_id = p_tenant AND m.memory_id = ANY (v_built)
              GROUP BY m.app_id, m.user_id) AS u;
        p_memories := p_memories || v_built;
    END IF;
    DELETE FROM recollect.memory_ancestors a
    WHERE a.tenant_id = p_tenant
        AND (a.memory_id = ANY (p_memories) AND NOT a.memory_id = ANY (v_kept)
            OR a.ancestor_id = ANY (p_memories) AND NOT a.ancestor_id = ANY (v_kept));
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
    SET superseded_by = chain.superseded_by,
        -- A summary does not return in the place of one that a caller erased.
        left_path = m.left_path AND chain.superseded_by IS NOT NULL
    FROM chain
    WHERE m.tenant_id = p_tenant AND m.memory_id = chain.memory_id
        -- The first memory of the chain that stays, or none.
        AND (chain.superseded_by = ANY (p_memories)) IS NOT TRUE;
    DELETE FROM recollect.memory_sources s
    WHERE s.tenant_id = p_tenant AND s.memory_id = ANY (p_memories) AND NOT s.memory_id = ANY (v_kept);
    WITH gone AS (
        DELETE FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.memory_id = ANY (p_memories)
        RETURNING m.memory_id, recollect.memory_queue(p_tenant, m.app_id, m.user_id) AS queue
    ),
    unqueued AS (
        -- Not changes that a worker has claimed: if it dies, the next one finds the memory
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
