SELECT COALESCE((SELECT max(f.number) FROM recollect.schema_files f), 0) AS version,
    EXISTS (SELECT FROM recollect.schema_releases r WHERE r.sha256 = $1) AS is_applied,
    EXISTS (
        SELECT FROM recollect.schema_files f
        JOIN unnest($2::text[]) WITH ORDINALITY AS own (sha256, number) ON own.number = f.number
        WHERE own.sha256 <> f.sha256) AS is_changed,
    COALESCE((SELECT r.release FROM recollect.schema_releases r ORDER BY r.id DESC LIMIT 1), '') AS release
