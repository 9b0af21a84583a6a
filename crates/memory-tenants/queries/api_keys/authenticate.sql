SELECT tenant_id, name, scopes, bounds FROM recollect.authenticate($1)
