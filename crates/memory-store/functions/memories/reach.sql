-- The depth of the deepest message of a thread that a memory was made of, and whether one
-- of its messages is off a path; null where none of the thread's messages is a source.
CREATE OR REPLACE FUNCTION recollect.reach_of_memory(
    p_tenant text, p_thread uuid, p_memory uuid, p_branches integer[], p_depths integer[],
    OUT covered integer, OUT off_path boolean
)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT max(m.depth), bool_or(NOT recollect.is_on_path(p_branches, p_depths, m.branch, m.depth))
    INTO covered, off_path
    FROM recollect.memory_sources s
    JOIN recollect.messages m ON m.tenant_id = p_tenant AND m.message_id = s.message_id
    WHERE s.tenant_id = p_tenant AND s.memory_id = p_memory AND s.thread_id = p_thread;
END;
$$;
