-- The rate limit of a subscription, for all processes together.

-- See roles.sql.
SELECT pg_catalog.set_config('pgonce.search_path', pg_catalog.current_setting('search_path'), false);
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);

SET ROLE pgonce_owner;

-- Takes permits to begin handling: at most the wanted number, and only those that are free by now. Permits that nobody took expire after a tenth of a
-- second. wait_ms: how long until the next permit is free, if none was.
CREATE OR REPLACE FUNCTION pgonce.take_rate_permits(subscription integer, wanted integer) RETURNS TABLE (granted integer, wait_ms bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '10s'
AS $$
DECLARE
  rate integer;
  from_then timestamptz;
  now timestamptz;
BEGIN
  PERFORM pgonce.bound_idle(2000); -- all listeners of the channel wait for this row
  SELECT c.max_rate INTO rate FROM pgonce.subscription s JOIN pgonce.channel c ON c.id = s.channel_id WHERE s.id = subscription;
  IF rate IS NULL THEN -- dropped, or installed anew: the poll says so
    RETURN QUERY SELECT wanted, 0::bigint;
    RETURN;
  END IF;
  INSERT INTO pgonce.rate_limit (subscription_id, free_from) VALUES (subscription, '-infinity') ON CONFLICT DO NOTHING;
  SELECT p.free_from INTO from_then FROM pgonce.rate_limit p WHERE p.subscription_id = subscription FOR UPDATE;
  now := clock_timestamp();
  -- It lies one permit ahead at most, a second at a rate of 1 and less at higher ones: further only where the server's clock was set back.
  from_then := CASE WHEN from_then > now + interval '5 seconds' THEN now ELSE greatest(from_then, now - interval '100 ms') END;
  granted := least(wanted, CASE WHEN from_then <= now THEN floor(extract(epoch FROM now - from_then) * rate) + 1 ELSE 0 END);
  from_then := from_then + granted * interval '1 second' / rate;
  IF granted > 0 THEN
    UPDATE pgonce.rate_limit p SET free_from = from_then WHERE p.subscription_id = subscription;
  END IF;
  wait_ms := greatest(0, ceil(1000 * extract(epoch FROM from_then - now)));
  RETURN NEXT;
END
$$;

RESET ROLE;
SELECT pg_catalog.set_config('search_path', pg_catalog.current_setting('pgonce.search_path'), false);
