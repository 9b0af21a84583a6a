SELECT recollect.retire_collection($1)
