-- A message, erased or not. In a join with ids each is looked up, one after the other. Without
-- OFFSET 0, a further condition on the thread can make Postgres read all messages of the tenant.
CREATE OR REPLACE FUNCTION recollect.message_by_id(p_tenant text, p_message uuid)
RETURNS SETOF recollect.messages
LANGUAGE sql STABLE ROWS 1 AS $$
    SELECT m.* FROM recollect.messages m
    WHERE m.tenant_id = p_tenant AND m.message_id = p_message
    OFFSET 0
$$;
