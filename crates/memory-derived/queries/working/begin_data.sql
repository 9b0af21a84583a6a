SELECT status, anything, etag, data FROM recollect.begin_working_data($1, $2, $3)
