-- The packed bytes of a value or a write: its data, then its chunks in order.
CREATE OR REPLACE FUNCTION recollect.checkpoint_pieces(p_tenant text, p_thread uuid, p_data bytea, p_chunks bytea[])
RETURNS bytea[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF p_chunks IS NULL THEN
        RETURN ARRAY[p_data];
    END IF;
    RETURN p_data || ARRAY(
        SELECT k.data
        FROM unnest(p_chunks) WITH ORDINALITY AS u (hash, place)
        JOIN recollect.checkpoint_chunks k ON k.tenant_id = p_tenant AND k.thread_id = p_thread AND k.hash = u.hash
        ORDER BY u.place);
END;
$$;
