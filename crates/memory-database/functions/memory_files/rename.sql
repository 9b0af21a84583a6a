-- Gives files other paths. Returns how many were renamed.
CREATE OR REPLACE FUNCTION recollect.rename_memory_files(
    p_tenant text, p_app text, p_user text, p_owner bytea,
    -- JSON lists of labels, and keys: the names so far and from now on.
    p_namespaces text[], p_keys text[], p_new_namespaces text[], p_new_keys text[],
    OUT renamed_count bigint
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_renamed record;
BEGIN
    renamed_count := 0;
    -- One at a time, as recollect.refresh_documents explains.
    FOR v_renamed IN
        SELECT u.path, u.key, u.new_path, u.new_namespace, u.new_key
        FROM unnest(
            recollect.document_paths(p_namespaces), p_keys,
            recollect.document_paths(p_new_namespaces), p_new_namespaces, p_new_keys)
            AS u (path, key, new_path, new_namespace, new_key)
    LOOP
        -- One that has expired and is not erased yet.
        DELETE FROM recollect.documents d
        WHERE d.tenant_id = p_tenant AND d.owner = p_owner AND d.path = v_renamed.new_path
            AND d.key = v_renamed.new_key AND COALESCE(d.expires_at <= clock_timestamp(), false);
        UPDATE recollect.documents d
        SET namespace = recollect.json_to_texts(v_renamed.new_namespace::jsonb), key = v_renamed.new_key
        WHERE d.tenant_id = p_tenant AND d.owner = p_owner AND d.path = v_renamed.path AND d.key = v_renamed.key;
        IF FOUND THEN
            renamed_count := renamed_count + 1;
        END IF;
    END LOOP;
    PERFORM recollect.audit_of(p_tenant, 'rename_memory_file', NULL, p_app, renamed_count, p_app, p_user);
END;
$$;
