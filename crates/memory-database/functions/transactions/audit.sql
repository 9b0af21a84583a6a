-- Records a change of a thread, or of what no app and no user owns. The actor is the transaction's
-- setting recollect.actor. In plpgsql, because Postgres plans a function in SQL again for every
-- call: three times the cost.
CREATE OR REPLACE FUNCTION recollect.audit(
    p_tenant text, p_action text, p_thread uuid, p_subject text, p_count bigint
)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM recollect.audit_of(p_tenant, p_action, p_thread, p_subject, p_count, '', '');
END;
$$;
