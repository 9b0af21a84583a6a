-- Lets the versions of files live for a time from now on, in seconds; null: without end.
CREATE OR REPLACE FUNCTION recollect.keep_memory_file_versions(
    p_tenant text, p_owner bytea,
    -- JSON lists of labels.
    p_namespaces text[],
    p_ttl_seconds double precision
)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_path text;
BEGIN
    -- One at a time, as recollect.refresh_documents explains.
    FOREACH v_path IN ARRAY recollect.document_paths(p_namespaces) LOOP
        UPDATE recollect.documents d
        SET ttl = make_interval(secs => p_ttl_seconds),
            expires_at = clock_timestamp() + make_interval(secs => p_ttl_seconds)
        WHERE d.tenant_id = p_tenant AND d.owner = p_owner AND d.path = v_path
            AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp());
    END LOOP;
END;
$$;
