SELECT recollect.use_thread($1, $2)
