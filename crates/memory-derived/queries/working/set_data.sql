SELECT recollect.set_working_data($1, $2, $3)
