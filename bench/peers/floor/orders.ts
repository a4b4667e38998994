import { Client } from 'pg';
import { Batch, seal } from './redis.ts';

/** The floor's store of orders in PostgreSQL: one commit before the first byte of an order, and one after its last. */

const { DATABASE_URL } = process.env;
const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/** Runs one statement on a connection, each time for all waiting rows, so that they share one commit. */
async function commits<Row extends object>(
  name: string,
  text: string,
): Promise<Batch<Row, number | undefined>> {
  const client = await connected();
  return new Batch(async (all) => {
    const { rows } = await client.query<{ name: string; at: string }>({
      name,
      text,
      values: [JSON.stringify(all)],
    });
    const at = new Map(rows.map((row) => [row.name, Number(row.at)]));
    return all.map((row) => at.get((row as Row & { name: string }).name));
  });
}

async function connected(): Promise<Client> {
  // A plan that was made while the tables were empty reads all of them.
  const client = new Client({
    connectionString: DATABASE_URL,
    options: '-c synchronous_commit=on -c enable_seqscan=off',
  });
  await client.connect();
  return client;
}

const setup = await connected();
await setup.query(`
  CREATE TABLE writes (name text PRIMARY KEY, state text NOT NULL, fingerprint text NOT NULL, caller text NOT NULL,
    submitted_at bigint NOT NULL, settled_at bigint, lease_until bigint NOT NULL, details text NOT NULL);
  CREATE INDEX writes_by_lease ON writes (lease_until) WHERE state = 'sending';
  CREATE TABLE numbers (name text PRIMARY KEY, value bigint NOT NULL);
  INSERT INTO numbers VALUES ('feed', 0);
  CREATE TABLE events (number bigint PRIMARY KEY, name text NOT NULL, state text NOT NULL, at bigint NOT NULL, record text NOT NULL)`);
await setup.end();

interface Begun {
  readonly name: string;
  readonly fingerprint: string;
  readonly caller: string;
  readonly leaseMs: number;
  readonly details: string;
}
const begins = await commits<Begun>(
  'begin',
  `INSERT INTO writes (name, state, fingerprint, caller, submitted_at, lease_until, details)
   SELECT name, 'sending', fingerprint, caller, ${NOW}, ${NOW} + "leaseMs", details FROM json_to_recordset($1::json)
     AS begun(name text, fingerprint text, caller text, "leaseMs" bigint, details text) ORDER BY name
   ON CONFLICT (name) DO NOTHING RETURNING name, submitted_at AS at`,
);
const moves = await commits<{ readonly name: string; readonly details: string }>(
  'move',
  `WITH moves AS (SELECT name, details, row_number() OVER () AS place FROM json_to_recordset($1::json) AS given(name text, details text)),
     moved AS (UPDATE writes SET state = 'succeeded', settled_at = ${NOW}, details = moves.details FROM moves
       WHERE writes.name = moves.name AND writes.state = 'sending' RETURNING writes.name, settled_at, place),
     fed AS (UPDATE numbers SET value = value + (SELECT count(*) FROM moves) WHERE numbers.name = 'feed' RETURNING value),
     told AS (INSERT INTO events SELECT value - (SELECT count(*) FROM moves) + place, name, 'succeeded', settled_at, details
       FROM fed, moved JOIN moves USING (name, place))
   SELECT name, settled_at AS at, pg_notify('feed', value::text) FROM moved, fed`,
);

/** Records an order before its first byte. Undefined if its number is known. */
export const begin = (name: string, order: Omit<Begun, 'name'>): Promise<number | undefined> =>
  begins.add({ ...order, name, details: seal(order.details, name) });

/** Records the end of an order after its last byte, with its event and the next number of the feed. */
export const settle = (name: string, details: string): Promise<number | undefined> =>
  moves.add({ name, details: seal(details, name) });
