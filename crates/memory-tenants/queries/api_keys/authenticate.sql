SELECT tenant_id, name, scopes FROM recollect.authenticate($1)
