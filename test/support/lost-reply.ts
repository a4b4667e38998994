import { Client } from 'pg';
import type { FaultProxy } from './fault-proxy.ts';
import { askDatabase } from './postgres.ts';
import { until } from './redis.ts';

/**
 * Sends a request to a gateway whose database is behind the proxy. The database carries out what the request adds to the table or changes in it, and its reply
 * does not come, nor does any other one before the response to the request.
 */
export async function withLostReply<T>(
  { url, proxy, table }: { url: string; proxy: FaultProxy; table: 'tasks' | 'webhooks' },
  request: () => Promise<T>,
): Promise<T> {
  const client = new Client(url);
  await client.connect();
  try {
    await client.query(`BEGIN; LOCK TABLE ${table} IN SHARE MODE`);
    const answer = request();
    const waiting = `SELECT 1 FROM pg_stat_activity
      WHERE usename = current_user AND wait_event_type = 'Lock' AND query ~ '(INTO|UPDATE) ${table}'`;
    await until('the row is sent', async () => (await askDatabase(url, waiting)).length > 0);
    await proxy.add({ toxic: 'timeout', ms: 0 });
    await client.query('COMMIT');
    return await answer;
  } finally {
    await client.end();
    await proxy.clear();
  }
}
