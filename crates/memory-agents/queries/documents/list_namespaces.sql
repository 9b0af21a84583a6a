SELECT namespace FROM recollect.list_namespaces($1, $2, $3, $4, $5, $6, $7)
