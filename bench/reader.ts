import { load } from './load.ts';

/**
 * Callers that read `READER_URL` at a fixed rate, in a process of their own so that the emulated platform does not delay them. Prints
 * their samples as JSON.
 */

const { READER_URL = '', READER_KEY = '' } = process.env;
const [rate, seconds] = process.argv.slice(2).map(Number);
const send = () => fetch(READER_URL, { headers: { 'x-api-key': READER_KEY } });
process.stdout.write(JSON.stringify(await load({ rate: rate ?? 0, seconds: seconds ?? 0, send })));
