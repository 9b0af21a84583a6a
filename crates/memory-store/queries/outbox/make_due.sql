SELECT recollect.make_due($1, $2, $3, $4, $5)
