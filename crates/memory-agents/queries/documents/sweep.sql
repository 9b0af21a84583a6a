SELECT recollect.sweep_documents($1, $2, $3)
