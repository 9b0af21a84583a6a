SELECT COALESCE((SELECT max(f.number) FROM recollect.schema_files f), 0) AS version,
    EXISTS (SELECT FROM recollect.schema_releases r WHERE r.sha256 = $1) AS is_applied
