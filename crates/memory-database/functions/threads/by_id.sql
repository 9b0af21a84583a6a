-- A thread, expired or not. In a join with ids each is looked up, one after the other.
CREATE OR REPLACE FUNCTION recollect.thread_by_id(p_tenant text, p_thread uuid)
RETURNS SETOF recollect.threads
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT t.* FROM recollect.threads t
    WHERE t.tenant_id = p_tenant AND t.thread_id = p_thread
    OFFSET 0
$$;
