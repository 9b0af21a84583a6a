-- Makes a collection the serving one, and the serving one the second. Returns done, or
-- why not: not_found, outdated (it receives no changes), incomplete or dead_letters (these two
-- unless p_force).
CREATE OR REPLACE FUNCTION recollect.switch_collection(p_collection text, p_force boolean)
RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    v_found record;
BEGIN
    PERFORM FROM recollect.index_collections c ORDER BY c.number FOR UPDATE;
    SELECT c.* INTO v_found FROM recollect.list_collections() AS c WHERE c.collection = p_collection;
    IF NOT FOUND THEN
        RETURN 'not_found';
    ELSIF v_found.state = 'serving' THEN
        RETURN 'done';
    ELSIF v_found.state <> 'beside' THEN
        RETURN 'outdated';
    ELSIF NOT (v_found.complete OR p_force) THEN
        RETURN 'incomplete';
    ELSIF v_found.dead_letters > 0 AND NOT p_force THEN
        RETURN 'dead_letters';
    END IF;
    -- No two are in the same state at any moment.
    UPDATE recollect.index_collections SET state = 'abandoned' WHERE number = v_found.number;
    UPDATE recollect.index_collections SET state = 'beside', changed_at = clock_timestamp() WHERE state = 'serving';
    UPDATE recollect.index_collections SET state = 'serving', changed_at = clock_timestamp() WHERE number = v_found.number;
    RETURN 'done';
END;
$$;
