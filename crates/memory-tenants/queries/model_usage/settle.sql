SELECT recollect.settle_tokens($1, $2, $3, $4, $5)
