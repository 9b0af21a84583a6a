-- The release is read through JSON, because an older schema has no such column.
SELECT COALESCE((SELECT max(f.number) FROM recollect.schema_files f), 0) AS version,
    EXISTS (SELECT FROM recollect.schema_releases r WHERE r.sha256 = $1) AS is_applied,
    COALESCE((SELECT to_jsonb(r) ->> 'release' FROM recollect.schema_releases r ORDER BY r.id DESC LIMIT 1), '') AS release
