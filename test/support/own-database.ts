import { parseDatabaseUrl } from '../../src/config/database-url.ts';
import { Database } from '../../src/database/database.ts';
import { createLog } from '../../src/observability/log.ts';

/** Opens the database of that URL for a program that a test starts and kills. */
export async function openOwnDatabase(url: string, platform: string): Promise<Database> {
  const address = parseDatabaseUrl(url);
  if (typeof address === 'string') throw new Error(`the URL ${address}`);
  const config = { address, ca: undefined, poolMax: 4, init: 'auto', platform, encryptionKeys: [] } as const;
  const database = new Database(config, createLog('silent'));
  await database.open();
  return database;
}
