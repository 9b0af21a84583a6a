SELECT tenant_id, name, admin FROM recollect.authenticate($1)
