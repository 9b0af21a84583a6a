-- Records the collections that a server opens: p_first of its embedding model, and p_next of
-- the model to change to, or null. If neither is the serving one, p_first becomes it, and the
-- others are abandoned. Returns whether it succeeded: not while a worker removes one of them.
CREATE OR REPLACE FUNCTION recollect.open_collections(p_first text, p_next text)
RETURNS boolean
LANGUAGE plpgsql
-- New changes wait behind the lock.
SET lock_timeout = '10s'
AS $$
DECLARE
    v_serving text;
BEGIN
    IF EXISTS (
        SELECT FROM recollect.index_collections c
        WHERE c.state = 'serving' AND (
            c.collection = p_next
            OR c.collection = p_first AND (p_next IS NULL OR EXISTS (
                SELECT FROM recollect.index_collections b WHERE b.collection = p_next AND b.state = 'beside'))))
    THEN
        RETURN true;
    END IF;
    -- The changes of transactions under way may not be queued for a new collection.
    LOCK TABLE recollect.outbox IN SHARE ROW EXCLUSIVE MODE;
    PERFORM FROM recollect.index_collections c ORDER BY c.number FOR UPDATE;
    IF EXISTS (
        SELECT FROM recollect.index_collections c
        WHERE c.collection IN (p_first, p_next) AND c.state = 'retired' AND c.leased_until > clock_timestamp())
    THEN
        RETURN false;
    END IF;
    SELECT c.collection INTO v_serving FROM recollect.index_collections c WHERE c.state = 'serving';
    IF v_serving IS NULL THEN
        -- Until now there was one collection, which has everything or is found to be new.
        INSERT INTO recollect.index_collections (number, collection, state, emptied, queued_at)
        VALUES (0, p_first, 'serving', true, clock_timestamp());
        v_serving := p_first;
    ELSIF v_serving <> p_first AND v_serving IS DISTINCT FROM p_next THEN
        UPDATE recollect.index_collections SET state = 'abandoned', changed_at = clock_timestamp()
        WHERE state = 'serving' OR state = 'beside' AND collection <> p_first;
        UPDATE recollect.index_collections SET state = 'serving', changed_at = clock_timestamp()
        WHERE state = 'beside';
        IF NOT FOUND THEN
            PERFORM recollect.add_collection(p_first, 'serving');
        END IF;
        v_serving := p_first;
    END IF;
    IF p_next IS NOT NULL AND v_serving = p_first AND NOT EXISTS (
        SELECT FROM recollect.index_collections c WHERE c.collection = p_next AND c.state = 'beside')
    THEN
        UPDATE recollect.index_collections SET state = 'abandoned', changed_at = clock_timestamp()
        WHERE state = 'beside';
        PERFORM recollect.add_collection(p_next, 'beside');
    END IF;
    RETURN true;
END;
$$;
