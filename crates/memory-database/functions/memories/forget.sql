-- Erases memories of an app by age, by time without use and by number, the one used longest ago
-- first, at most p_limit of 256 users; with p_dry_run it only returns them. A limit of null is
-- none. Returns the first p_listed of them, and then one row without a memory, which has the
-- numbers.
CREATE OR REPLACE FUNCTION recollect.delete_memories(
    p_tenant text, p_actor text, p_app text, p_user text, p_all_users boolean,
    p_max_age double precision, p_max_inactivity double precision, p_max_count integer,
    p_dry_run boolean, p_limit integer, p_listed integer
)
RETURNS TABLE (forgotten bigint, more boolean, memory recollect.memories, sources uuid[])
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_full text[] := '{}';
    v_memories uuid[];
    v_users text[];
    v_memory recollect.memories;
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true), set_config('recollect.actor', p_actor, true);
    IF p_max_count IS NOT NULL THEN
        SELECT COALESCE(array_agg(u.user_id), '{}') INTO v_full
        FROM (SELECT m.user_id FROM recollect.memories m
              WHERE m.tenant_id = p_tenant AND m.app_id = p_app AND (p_all_users OR m.user_id = p_user)
              GROUP BY m.user_id
              HAVING count(*) > p_max_count) AS u;
    END IF;
    WITH own AS (
        SELECT m.memory_id, m.user_id, m.ordinal, m.pinned, m.created_at, m.valid_until IS NULL AS holds,
            -- Only the day of the last use is known: it counts to its end.
            COALESCE((m.last_used_on + 1)::timestamp AT TIME ZONE 'UTC', m.created_at) AS used_at
        FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.app_id = p_app AND (p_all_users OR m.user_id = p_user)
    ),
    -- Pinned memories stay, so they are placed first; superseded ones come last.
    placed AS (
        SELECT own.memory_id,
            row_number() OVER (
                PARTITION BY own.user_id
                ORDER BY own.pinned DESC, own.holds DESC, own.used_at DESC, own.ordinal DESC) AS place
        FROM own
        WHERE own.user_id = ANY (v_full)
    ),
    chosen AS (
        SELECT own.memory_id, own.user_id, row_number() OVER (ORDER BY own.used_at, own.ordinal) AS place
        FROM own
        LEFT JOIN placed ON placed.memory_id = own.memory_id
        WHERE NOT own.pinned
            AND (own.created_at < clock_timestamp() - make_interval(secs => p_max_age)
                OR own.used_at < clock_timestamp() - make_interval(secs => p_max_inactivity)
                OR placed.place > p_max_count)
        ORDER BY place
        LIMIT p_limit + 1
    ),
    -- Each user is locked, and the number of locks in a transaction is limited.
    users AS (
        SELECT chosen.user_id FROM chosen GROUP BY chosen.user_id ORDER BY min(chosen.place) LIMIT 256
    )
    SELECT array_agg(chosen.memory_id ORDER BY chosen.place) FILTER (WHERE kept.user_id IS NOT NULL),
        array_agg(DISTINCT kept.user_id), COALESCE(bool_or(kept.user_id IS NULL), false)
    INTO v_memories, v_users, more
    FROM chosen
    LEFT JOIN users AS kept ON kept.user_id = chosen.user_id;
    v_memories := COALESCE(v_memories, '{}');
    more := more OR cardinality(v_memories) > p_limit;
    v_memories := v_memories[1:p_limit];
    IF NOT p_dry_run THEN
        -- In order, to avoid deadlocks.
        PERFORM recollect.lock_memories(p_tenant, p_app, u.user_id)
        FROM (SELECT u.user_id FROM unnest(v_users) AS u (user_id)
              WHERE u.user_id IS NOT NULL ORDER BY u.user_id OFFSET 0) AS u;
        -- Some may have been pinned or erased meanwhile.
        SELECT COALESCE(array_agg(m.memory_id ORDER BY u.place), '{}') INTO v_memories
        FROM unnest(v_memories) WITH ORDINALITY AS u (id, place)
        JOIN recollect.memories m ON m.tenant_id = p_tenant AND m.memory_id = u.id AND NOT m.pinned;
    END IF;
    forgotten := cardinality(v_memories);
    FOR v_memory IN
        SELECT m.*
        FROM recollect.memories m
        WHERE m.tenant_id = p_tenant AND m.memory_id = ANY (v_memories[1:p_listed])
        ORDER BY array_position(v_memories, m.memory_id)
    LOOP
        memory := v_memory;
        sources := recollect.sources_of(p_tenant, v_memory.memory_id);
        RETURN NEXT;
    END LOOP;
    IF NOT p_dry_run AND forgotten > 0 THEN
        -- A record for each user, so that who follows one learns of it.
        PERFORM recollect.audit_of(p_tenant, 'delete_memories', NULL, p_app, u.count, p_app, u.user_id)
        FROM (SELECT m.user_id, count(*) AS count FROM recollect.memories m
              WHERE m.tenant_id = p_tenant AND m.memory_id = ANY (v_memories)
              GROUP BY m.user_id) AS u;
        PERFORM recollect.erase_memories(p_tenant, v_memories, true);
    END IF;
    memory := NULL;
    sources := NULL;
    RETURN NEXT;
END;
$$;
