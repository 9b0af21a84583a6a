-- Erases references of holders that were never written, or no longer exist, and the content
-- that nothing else refers to, among contents that were held at least p_age seconds ago.
-- Returns how many contents it looked at.
CREATE OR REPLACE FUNCTION recollect.settle_contents(p_tenant text, p_age double precision, p_limit integer)
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_digests bytea[];
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    SELECT array_agg(due.digest) INTO v_digests
    FROM (
        SELECT c.digest
        FROM recollect.contents c
        WHERE c.tenant_id = p_tenant AND NOT c.settled
            AND c.held_at < clock_timestamp() - make_interval(secs => p_age)
        ORDER BY c.digest
        LIMIT p_limit
        FOR UPDATE
    ) AS due;
    IF v_digests IS NULL THEN
        RETURN 0;
    END IF;
    DELETE FROM recollect.content_holders h
    WHERE h.tenant_id = p_tenant AND h.digest = ANY (v_digests)
        AND NOT CASE
            WHEN strpos(h.holder, '/') = 0 THEN EXISTS (
                SELECT FROM recollect.messages m
                WHERE m.tenant_id = p_tenant AND m.message_id = h.holder::uuid AND m.deleted_at IS NULL)
            ELSE EXISTS (
                SELECT FROM recollect.node_memories n
                WHERE n.tenant_id = p_tenant AND n.thread_id = left(h.holder, 36)::uuid
                    AND n.node_id = substr(h.holder, 38))
        END;
    PERFORM recollect.erase_unheld_contents(p_tenant, v_digests);
    UPDATE recollect.contents c
    SET settled = true
    WHERE c.tenant_id = p_tenant AND c.digest = ANY (v_digests);
    RETURN cardinality(v_digests);
END;
$$;
