-- Erases the references of messages and claims that were not written, once they cannot be
-- written any more, and the content that nothing else refers to.
CREATE OR REPLACE FUNCTION recollect.release_unwritten(p_tenant text, p_holders text[])
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM recollect.release_contents(p_tenant, ARRAY(
        SELECT h.holder
        FROM recollect.content_holders h
        WHERE h.tenant_id = p_tenant AND h.holder = ANY (p_holders) AND NOT h.settled
            AND NOT EXISTS (
                SELECT FROM recollect.messages m
                WHERE m.tenant_id = p_tenant AND m.message_id = h.holder::uuid)));
END;
$$;
