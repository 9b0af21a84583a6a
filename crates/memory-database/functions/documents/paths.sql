-- The paths of namespaces, which are JSON lists of labels, in order.
CREATE OR REPLACE FUNCTION recollect.document_paths(p_namespaces text[])
RETURNS text[]
LANGUAGE sql IMMUTABLE AS $$
    SELECT ARRAY(
        SELECT recollect.document_path(recollect.json_to_texts(u.namespace::jsonb))
        FROM unnest(p_namespaces) WITH ORDINALITY AS u (namespace, place)
        ORDER BY u.place)
$$;
