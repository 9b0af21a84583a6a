SELECT forgotten, more FROM recollect.forget_by_policy($1, $2, $3, $4, $5)
