-- How each app remembers; what it does not say is left out.
CREATE TABLE recollect.app_policies (
    tenant_id text NOT NULL,
    app_id text NOT NULL,
    -- The order of creation.
    ordinal bigint GENERATED ALWAYS AS IDENTITY,
    policy jsonb NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, app_id)
);

CREATE INDEX app_policies_by_ordinal ON recollect.app_policies (tenant_id, ordinal);

SELECT recollect.isolate('app_policies');
GRANT SELECT, INSERT, UPDATE, DELETE ON recollect.app_policies TO recollect_service;
