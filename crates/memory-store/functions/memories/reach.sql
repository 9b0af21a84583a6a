-- How far down the messages reach that a memory was made of, and whether one of them
-- is off a path; null where none of the thread's is known.
CREATE OR REPLACE FUNCTION recollect.reach_of_memory(
    p_tenant text, p_thread uuid, p_memory uuid, p_branches integer[], p_depths integer[],
    OUT covered integer, OUT astray boolean
)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT max(m.depth), bool_or(NOT EXISTS (
        SELECT FROM unnest(p_branches, p_depths) AS way (branch, depth)
        WHERE way.branch = m.branch AND way.depth >= m.depth))
    INTO covered, astray
    FROM recollect.memory_sources s
    JOIN recollect.messages m ON m.tenant_id = p_tenant AND m.message_id = s.message_id
    WHERE s.tenant_id = p_tenant AND s.memory_id = p_memory AND s.thread_id = p_thread;
END;
$$;
