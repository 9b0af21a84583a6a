-- Records that facts were extracted from the messages on the path to the one with seq
-- p_to. False where there never was such a message.
CREATE OR REPLACE FUNCTION recollect.mark_extracted(p_tenant text, p_thread uuid, p_to bigint)
RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    v_end record;
BEGIN
    SELECT m.branch, m.depth INTO v_end
    FROM recollect.messages m
    WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.seq = p_to;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE recollect.branches b
    SET extract_seq = last.seq
    FROM recollect.path(p_tenant, p_thread, v_end.branch, v_end.depth) part
    CROSS JOIN LATERAL (
        SELECT m.seq
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = part.branch
            AND m.depth > part.above AND m.depth <= part.depth AND m.deleted_at IS NULL
            -- A later message may have the place of one that was erased.
            AND m.seq <= p_to
        ORDER BY m.depth DESC
        LIMIT 1
    ) AS last
    WHERE b.tenant_id = p_tenant AND b.thread_id = p_thread AND b.branch = part.branch
        AND b.extract_seq < last.seq;
    PERFORM recollect.raise_generations(p_tenant, p_thread, 'extract');
    RETURN true;
END;
$$;
