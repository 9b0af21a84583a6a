-- The number of a collection, or null if it receives no changes. Without a name, or before any is
-- recorded: the number of the serving one.
CREATE OR REPLACE FUNCTION recollect.collection_number(p_collection text)
RETURNS integer
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF p_collection IS NULL OR NOT EXISTS (SELECT FROM recollect.index_collections c WHERE c.state = 'serving') THEN
        RETURN recollect.serving_collection();
    END IF;
    RETURN (
        SELECT c.number FROM recollect.index_collections c
        WHERE c.collection = p_collection AND c.state IN ('serving', 'beside'));
END;
$$;
