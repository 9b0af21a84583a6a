-- What is at a path of the files of a user or an app.
CREATE OR REPLACE FUNCTION recollect.memory_file_at(
    p_tenant text, p_owner bytea,
    -- The names of the path; none: the root, which is a directory.
    p_names text[],
    -- The file's document, its size as JSON and its times; null: there is no file.
    OUT value text, OUT size_bytes bigint, OUT created_at timestamptz, OUT updated_at timestamptz,
    -- The document that is left of a deleted file; null: none was deleted.
    OUT deleted text,
    -- Whether files are below the path.
    OUT is_directory boolean,
    -- Whether the path leads through a file.
    OUT is_below_file boolean
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
    v_above text[] := p_names[:cardinality(p_names) - 1];
    v_name text := p_names[cardinality(p_names)];
    v_inside text := recollect.document_path(ARRAY['recollect.files'] || p_names);
BEGIN
    SELECT d.value::text, d.size_bytes, d.created_at, d.updated_at
    INTO value, size_bytes, created_at, updated_at
    FROM recollect.document_named(
        p_tenant, p_owner, recollect.document_path(ARRAY['recollect.files'] || v_above), v_name) AS d
    WHERE d.expires_at IS NULL OR d.expires_at > clock_timestamp();
    SELECT d.value::text
    INTO deleted
    FROM recollect.document_named(
        p_tenant, p_owner, recollect.document_path(ARRAY['recollect.deleted_files'] || v_above), v_name) AS d
    WHERE d.expires_at IS NULL OR d.expires_at > clock_timestamp();
    is_directory := cardinality(p_names) = 0 OR EXISTS (
        SELECT FROM recollect.documents d
        WHERE d.tenant_id = p_tenant AND d.owner = p_owner
            AND d.path >= v_inside AND d.path < recollect.document_path_end(v_inside)
            AND (d.expires_at IS NULL OR d.expires_at > clock_timestamp()));
    is_below_file := EXISTS (
        SELECT FROM generate_series(1, cardinality(p_names) - 1) AS g (depth)
        CROSS JOIN LATERAL recollect.document_named(
            p_tenant, p_owner, recollect.document_path(ARRAY['recollect.files'] || p_names[:g.depth - 1]),
            p_names[g.depth]) AS d
        WHERE d.expires_at IS NULL OR d.expires_at > clock_timestamp());
END;
$$;
