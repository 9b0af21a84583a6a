-- As servers of release 1.0.0 call it: whatever the thread's size, in one transaction.
CREATE OR REPLACE FUNCTION recollect.clear_thread(
    p_tenant text, p_actor text, p_thread uuid,
    OUT status text, OUT message_count bigint, OUT revision bigint
)
LANGUAGE sql AS $$
    SELECT c.status, c.message_count, c.revision FROM recollect.clear_thread(p_tenant, p_actor, p_thread, NULL) AS c
$$;
