SELECT COALESCE(max(f.number), 0) AS version, current_setting('server_version') AS server_version
FROM recollect.schema_files f
