SELECT COALESCE(max(f.number), 0), current_setting('server_version') FROM recollect.schema_files f
