SELECT recollect.reserve_tokens($1, $2, $3, $4, $5, $6, $7)
