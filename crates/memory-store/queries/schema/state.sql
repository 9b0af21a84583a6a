SELECT COALESCE((SELECT max(f.number) FROM recollect.schema_files f), 0),
    EXISTS (SELECT FROM recollect.schema_releases r WHERE r.sha256 = $1)
