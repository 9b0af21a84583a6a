-- Run by the image's entry point when it creates the database; see deploy/README.md. The
-- user `recollect`, which owns the schema, exists already.
CREATE ROLE recollect_service;
CREATE ROLE recollect_worker;
CREATE ROLE recollect_search;
CREATE ROLE recollect_auth;
GRANT recollect_service, recollect_worker, recollect_search, recollect_auth TO recollect;
CREATE ROLE recollect_app LOGIN PASSWORD 'kind' IN ROLE recollect_service, recollect_worker;
