-- Erases references whose messages were never written or do not refer to the content, and that were
-- held at least p_age seconds and the longest time of a statement ago, and the content that nothing
-- else refers to.
-- Returns how many references it looked at. Node memories adopt their references when they
-- are written, so only references of messages, and claims, are unsettled.
CREATE OR REPLACE FUNCTION recollect.settle_contents(p_tenant text, p_age double precision, p_limit integer)
RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    v_before timestamptz := clock_timestamp() - make_interval(secs => p_age)
        - current_setting('statement_timeout')::interval;
    v_holders text[];
    v_digests bytea[];
BEGIN
    PERFORM set_config('recollect.tenant', p_tenant, true);
    SELECT array_agg(due.holder), array_agg(due.digest) INTO v_holders, v_digests
    FROM (
        SELECT h.holder, h.digest
        FROM recollect.content_holders h
        WHERE h.tenant_id = p_tenant AND NOT h.settled AND h.held_at < v_before
        ORDER BY h.held_at
        LIMIT p_limit
    ) AS due;
    IF v_digests IS NULL THEN
        RETURN 0;
    END IF;
    -- As queries/contents/hold.sql and release_contents lock them.
    PERFORM FROM recollect.contents c
    WHERE c.tenant_id = p_tenant AND c.digest = ANY (v_digests)
    ORDER BY c.digest
    FOR UPDATE;
    DELETE FROM recollect.content_holders h
    USING unnest(v_holders, v_digests) AS d (holder, digest)
    WHERE h.tenant_id = p_tenant AND h.holder = d.holder AND h.digest = d.digest
        AND NOT h.settled AND h.held_at < v_before
        AND NOT EXISTS (
            SELECT FROM recollect.messages m
            WHERE m.tenant_id = p_tenant AND m.message_id = d.holder::uuid AND m.deleted_at IS NULL
                AND strpos(m.parts::text, recollect.content_url(d.digest)) > 0);
    UPDATE recollect.content_holders h
    SET settled = true
    FROM unnest(v_holders, v_digests) AS d (holder, digest)
    WHERE h.tenant_id = p_tenant AND h.holder = d.holder AND h.digest = d.digest
        AND NOT h.settled AND h.held_at < v_before;
    PERFORM recollect.erase_unheld_contents(p_tenant, v_digests);
    RETURN cardinality(v_digests);
END;
$$;
