-- Erases the references of holders that are erased, and the content that nothing else
-- refers to. The rows of contents are locked first, as queries/contents/hold.sql locks them: of two
-- transactions the later one sees the changes of the earlier one.
CREATE OR REPLACE FUNCTION recollect.release_contents(p_tenant text, p_holders text[])
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_digests bytea[];
BEGIN
    SELECT array_agg(DISTINCT h.digest) INTO v_digests
    FROM recollect.content_holders h
    WHERE h.tenant_id = p_tenant AND h.holder = ANY (p_holders);
    IF v_digests IS NULL THEN
        RETURN;
    END IF;
    PERFORM FROM recollect.contents c
    WHERE c.tenant_id = p_tenant AND c.digest = ANY (v_digests)
    ORDER BY c.digest
    FOR UPDATE;
    DELETE FROM recollect.content_holders h
    WHERE h.tenant_id = p_tenant AND h.holder = ANY (p_holders) AND h.digest = ANY (v_digests);
    PERFORM recollect.erase_unheld_contents(p_tenant, v_digests);
END;
$$;
