SELECT COALESCE(max(h.version), 0), current_setting('server_version') FROM recollect.schema_history h
