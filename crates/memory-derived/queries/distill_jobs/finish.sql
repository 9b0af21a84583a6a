SELECT recollect.finish_distill($1, $2, $3, $4, $5, NULL)
