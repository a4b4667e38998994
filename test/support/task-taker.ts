/** A process that takes the tasks of its second argument's kind and never ends one. It prints the name of each. */
import { TaskWorker } from '../../src/tasks/task-worker.ts';
import { openOwnDatabase } from './own-database.ts';

const [url = '', kind = '', platform = ''] = process.argv.slice(2);
const database = await openOwnDatabase(url, platform);
const run = ({ name }: { readonly name: string }): Promise<undefined> => {
  process.stdout.write(`${name}\n`);
  return new Promise(() => undefined);
};
new TaskWorker(database, { kind, concurrency: 2, run }).start();
process.stdin.resume();
