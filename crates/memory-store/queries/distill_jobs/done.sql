SELECT recollect.distill_done($1, $2, $3, $4, $5, NULL)
