-- Records a collection that has to be filled, in place of an earlier one of its name.
CREATE OR REPLACE FUNCTION recollect.add_collection(p_collection text, p_state text)
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM recollect.index_collections WHERE collection = p_collection;
    INSERT INTO recollect.index_collections (number, collection, state)
    VALUES (nextval('recollect.index_collection_numbers'), p_collection, p_state);
END;
$$;
