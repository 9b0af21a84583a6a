-- Erases the references of messages and claims that only one attempt held (p_write), which was
-- rejected, and the content that nothing else refers to. Another attempt with the same ids may
-- still be under way: content that it holds, too, stays, and is settled later.
CREATE OR REPLACE FUNCTION recollect.release_unwritten(p_tenant text, p_holders text[], p_write uuid)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_digests bytea[];
BEGIN
    SELECT array_agg(DISTINCT h.digest) INTO v_digests
    FROM recollect.content_holders h
    WHERE h.tenant_id = p_tenant AND h.holder = ANY (p_holders) AND h.held_by = p_write AND NOT h.settled;
    IF v_digests IS NULL THEN
        RETURN;
    END IF;
    -- As queries/contents/hold.sql locks them: content that another attempt holds meanwhile is seen below.
    PERFORM FROM recollect.contents c
    WHERE c.tenant_id = p_tenant AND c.digest = ANY (v_digests)
    ORDER BY c.digest
    FOR UPDATE;
    DELETE FROM recollect.content_holders h
    WHERE h.tenant_id = p_tenant AND h.holder = ANY (p_holders) AND h.held_by = p_write AND NOT h.settled
        AND NOT EXISTS (
            SELECT FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.message_id = h.holder::uuid);
    PERFORM recollect.erase_unheld_contents(p_tenant, v_digests);
END;
$$;
