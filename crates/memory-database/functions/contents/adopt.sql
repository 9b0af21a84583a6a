-- Ends claims to content. The holder at the claim's place in the array refers to the content from
-- now on; null: none does. Content that nothing else refers to is erased.
CREATE OR REPLACE FUNCTION recollect.adopt_contents(p_tenant text, p_claims text[], p_holders text[])
RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF COALESCE(cardinality(p_claims), 0) = 0 THEN
        RETURN;
    END IF;
    PERFORM FROM recollect.contents c
    WHERE c.tenant_id = p_tenant AND c.digest IN (
        SELECT h.digest FROM recollect.content_holders h
        WHERE h.tenant_id = p_tenant AND h.holder = ANY (p_claims))
    ORDER BY c.digest
    FOR UPDATE;
    INSERT INTO recollect.content_holders AS o (tenant_id, holder, digest, settled)
    SELECT DISTINCT p_tenant, a.holder, h.digest, true
    FROM unnest(p_claims, p_holders) AS a (claim, holder)
    JOIN recollect.content_holders h ON h.tenant_id = p_tenant AND h.holder = a.claim
    WHERE a.holder IS NOT NULL
    ON CONFLICT (tenant_id, holder, digest) DO UPDATE SET settled = true WHERE NOT o.settled;
    PERFORM recollect.release_contents(p_tenant, p_claims);
END;
$$;
