SELECT recollect.switch_collection($1, $2)
