-- Gives up what a lost encryption key has sealed (docs/operating.md, section 4). Stop every gateway and back the database up first.
-- Replace k1 by the id of the lost key. If several platforms share the database, restrict each WHERE to yours (`platform`).
BEGIN;
DELETE FROM webhooks WHERE substr(definition, 1, length('v1.k1.')) = 'v1.k1.';
-- An import is also lost if only some of its rows are under the key. These are bytes, and || '' makes texts of them in SQLite.
CREATE TEMPORARY TABLE lost_jobs AS SELECT job_id FROM jobs
  WHERE substr(definition, 1, length('v1.k1.')) = 'v1.k1.'
  UNION SELECT job_id FROM job_chunks
  WHERE substr(results, 1, length('v1.k1.')) || '' = 'v1.k1.' OR substr(waiting, 1, length('v1.k1.')) || '' = 'v1.k1.';
DELETE FROM tasks WHERE name IN (SELECT name FROM writes WHERE substr(details, 1, length('v1.k1.')) = 'v1.k1.')
  OR name IN (SELECT job_id FROM lost_jobs);
UPDATE jobs SET state = 'failed', finished_at = changed_at
  WHERE job_id IN (SELECT job_id FROM lost_jobs) AND finished_at IS NULL AND state <> 'reserved';
UPDATE job_chunks SET waiting = NULL, calls = 0 WHERE job_id IN (SELECT job_id FROM lost_jobs);
DROP TABLE lost_jobs;
UPDATE writes SET state = 'succeeded', settled_at = submitted_at, ends_at = submitted_at + 34560000000
  WHERE substr(details, 1, length('v1.k1.')) = 'v1.k1.' AND channel IS NOT NULL
    AND state IN ('scheduled', 'sending', 'accepted', 'incomplete', 'in_doubt');
UPDATE uses SET used = (SELECT count(*) FROM writes
    WHERE writes.platform = uses.platform AND writes.caller = uses.caller AND state = 'scheduled')
  WHERE kind = 'scheduled';
DELETE FROM order_counts;
INSERT INTO order_counts (platform, enterprise_group, channel, state, orders)
  SELECT platform, '', '', state, count(*) FROM writes WHERE channel IS NOT NULL GROUP BY platform, state
  UNION ALL SELECT platform, '', channel, state, count(*) FROM writes
    WHERE channel IS NOT NULL GROUP BY platform, channel, state
  UNION ALL SELECT platform, enterprise_group, channel, state, count(*) FROM writes
    WHERE channel IS NOT NULL GROUP BY platform, enterprise_group, channel, state;
COMMIT;
