-- The messages that a memory was made of.
CREATE OR REPLACE FUNCTION recollect.sources_of(p_tenant text, p_memory uuid)
RETURNS uuid[]
LANGUAGE sql STABLE AS $$
    SELECT ARRAY(SELECT s.message_id FROM recollect.memory_sources s
                 WHERE s.tenant_id = p_tenant AND s.memory_id = p_memory
                 ORDER BY s.ordinal)
$$;
