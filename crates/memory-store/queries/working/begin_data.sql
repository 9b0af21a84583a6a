SELECT status, etag, data FROM recollect.begin_working_data($1, $2, $3)
