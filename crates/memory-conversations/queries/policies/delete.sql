SELECT status, version, deleted FROM recollect.delete_app_policy($1, $2, $3, $4)
