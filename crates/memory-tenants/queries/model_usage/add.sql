SELECT recollect.add_model_usage($1, $2, $3, $4, $5, $6, $7)
