-- Erases all versions of files.
CREATE OR REPLACE FUNCTION recollect.erase_memory_file_versions(
    p_tenant text, p_owner bytea,
    -- JSON lists of labels.
    p_namespaces text[]
)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_path text;
BEGIN
    -- One at a time, as recollect.refresh_documents explains.
    FOREACH v_path IN ARRAY recollect.document_paths(p_namespaces) LOOP
        DELETE FROM recollect.documents d
        WHERE d.tenant_id = p_tenant AND d.owner = p_owner AND d.path = v_path;
    END LOOP;
END;
$$;
