-- Notes that the messages on the path to the one with seq p_to were looked at for
-- facts; whether there is, or was, such a message.
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
    FROM recollect.path(p_tenant, p_thread, v_end.branch, v_end.depth) way
    CROSS JOIN LATERAL (
        SELECT m.seq
        FROM recollect.messages m
        WHERE m.tenant_id = p_tenant AND m.thread_id = p_thread AND m.branch = way.branch
            AND m.depth > way.above AND m.depth <= way.depth AND m.deleted_at IS NULL
            -- A message that was erased since may have left its place to another one.
            AND m.seq <= p_to
        ORDER BY m.depth DESC
        LIMIT 1
    ) AS last
    WHERE b.tenant_id = p_tenant AND b.thread_id = p_thread AND b.branch = way.branch
        AND b.extract_seq < last.seq;
    UPDATE recollect.threads SET extract_generation = extract_generation + 1
    WHERE tenant_id = p_tenant AND thread_id = p_thread;
    RETURN true;
END;
$$;
