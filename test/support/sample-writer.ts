/** A process that begins and moves orders in the database of its first argument until it is killed, and prints each number that it was told. */
import { begin, move } from './sample-store.ts';
import { openOwnDatabase } from './own-database.ts';

const [url = '', platform = '', run = ''] = process.argv.slice(2);
const database = await openOwnDatabase(url, platform);

async function work(worker: number): Promise<void> {
  for (let at = 0; ; at++) {
    const name = `${run}-${worker}-${at}`;
    if ((await database.step(begin, { name, caller: 'writer', owner: name, record: 'sealed' })) !== 'begun')
      throw new Error(`${name} was begun before`);
    const number = await database.step(move, { name, owner: name, state: 'succeeded', record: 'sealed' });
    process.stdout.write(`${name} ${number}\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, (_, worker) => work(worker)));
