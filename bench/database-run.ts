/** Begins and moves orders in the database of its first argument, and prints the used time as JSON. It is a part of database.ts. */
import { newSecret } from '../test/support/canary.ts';
import { openOwnDatabase } from '../test/support/own-database.ts';
import { begin, install, move } from '../test/support/sample-store.ts';

const AT_ONCE = 64;
const RECORD = newSecret('c', 1_200);

const [url = '', platform = '', count = '0'] = process.argv.slice(2);
const database = await openOwnDatabase(url, platform);
await database.step(install, undefined).catch(() => undefined);

async function run(orders: number): Promise<void> {
  let at = 0;
  const work = async () => {
    while (at < orders) {
      const name = `${process.pid}-${orders}-${at++}`;
      await database.step(begin, { name, caller: 'bench', owner: name, record: RECORD });
      await database.step(move, { name, owner: name, state: 'succeeded', record: RECORD });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

await run(1_000);
const [cpu, from] = [process.cpuUsage(), performance.now()];
await run(Number(count));
const [{ user, system }, ms] = [process.cpuUsage(cpu), performance.now() - from];
process.stdout.write(
  JSON.stringify({ clientMicros: (user + system) / Number(count), perSecond: (Number(count) / ms) * 1_000 }),
);
await database.close();
process.exit(0);
