-- Erases the versions of a file before one of them.
CREATE OR REPLACE FUNCTION recollect.trim_memory_file_versions(
    p_tenant text, p_owner bytea,
    -- A JSON list of labels.
    p_namespace text,
    p_first_key text
)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_path text := recollect.document_path(recollect.json_to_texts(p_namespace::jsonb));
BEGIN
    DELETE FROM recollect.documents d
    WHERE d.tenant_id = p_tenant AND d.owner = p_owner AND d.path = v_path AND d.key < p_first_key;
END;
$$;
