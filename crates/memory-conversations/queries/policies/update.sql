SELECT u.status, (u.app_policy).policy, (u.app_policy).version, (u.app_policy).updated_at
FROM recollect.update_app_policy($1, $2, $3, $4, $5, $6, $7, $8) u
