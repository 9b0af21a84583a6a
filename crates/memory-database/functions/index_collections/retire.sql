-- Ends changes to a collection, which a worker then removes. Returns done, or why not:
-- not_found, serving, or recent: servers may still search one that served until a moment ago.
CREATE OR REPLACE FUNCTION recollect.retire_collection(p_collection text)
RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    v_state text;
    v_changed timestamptz;
BEGIN
    PERFORM FROM recollect.index_collections c ORDER BY c.number FOR UPDATE;
    SELECT c.state, c.changed_at INTO v_state, v_changed FROM recollect.index_collections c WHERE c.collection = p_collection;
    IF v_state IS NULL THEN
        RETURN 'not_found';
    ELSIF v_state = 'serving' THEN
        RETURN 'serving';
    ELSIF v_state = 'beside' AND v_changed > clock_timestamp() - interval '10 seconds' THEN
        RETURN 'recent';
    ELSIF v_state <> 'retired' THEN
        UPDATE recollect.index_collections SET state = 'retired', changed_at = clock_timestamp()
        WHERE collection = p_collection;
    END IF;
    RETURN 'done';
END;
$$;
