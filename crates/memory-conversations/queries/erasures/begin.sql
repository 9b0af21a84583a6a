SELECT recollect.begin_erasure($1, $2, $3, $4, $5, $6)
