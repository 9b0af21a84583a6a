-- Adds messages to the sources of a memory, and keeps the 32 that were added last.
CREATE OR REPLACE FUNCTION recollect.add_sources(p_tenant text, p_memory uuid, p_sources uuid[])
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO recollect.memory_sources (tenant_id, memory_id, message_id, thread_id)
    SELECT p_tenant, p_memory, m.message_id, m.thread_id
    FROM unnest(p_sources) WITH ORDINALITY AS u (id, place)
    JOIN recollect.messages m ON m.tenant_id = p_tenant AND m.message_id = u.id
    ORDER BY u.place
    ON CONFLICT DO NOTHING;
    DELETE FROM recollect.memory_sources s
    WHERE s.tenant_id = p_tenant AND s.memory_id = p_memory
        AND s.ordinal <= (
            SELECT l.ordinal FROM recollect.memory_sources l
            WHERE l.tenant_id = p_tenant AND l.memory_id = p_memory
            ORDER BY l.ordinal DESC
            OFFSET 32 LIMIT 1);
END;
$$;
