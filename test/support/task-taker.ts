/** A process that takes the tasks of its second argument's kind and never ends one. It prints the name of each. */
import { Database } from '../../src/database/database.ts';
import { parseDatabaseUrl } from '../../src/config/database-url.ts';
import { createLog } from '../../src/observability/log.ts';
import { TaskWorker } from '../../src/tasks/task-worker.ts';

const [url = '', kind = '', platform = ''] = process.argv.slice(2);
const address = parseDatabaseUrl(url);
if (typeof address === 'string') throw new Error(`the URL ${address}`);
const database = new Database(
  { address, ca: undefined, poolMax: 4, init: 'auto', platform, encryptionKeys: [] },
  createLog('silent'),
);
await database.open();
const run = ({ name }: { readonly name: string }): Promise<undefined> => {
  process.stdout.write(`${name}\n`);
  return new Promise(() => undefined);
};
new TaskWorker(database, { kind, concurrency: 2, run }).start();
process.stdin.resume();
