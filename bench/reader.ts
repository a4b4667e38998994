import { load } from './load.ts';

/**
 * Callers that read `READER_URL` at a fixed rate, in a process of their own so that the emulated platform does not delay them. It sends its
 * parent `warm` when its measurement begins, and then the samples.
 */

const { READER_URL = '', READER_KEY = '' } = process.env;
const [rate = 0, seconds = 0] = process.argv.slice(2).map(Number);
const send = () => fetch(READER_URL, { headers: { 'x-api-key': READER_KEY } });
await load({ rate, seconds: 1, send });
process.send?.('warm');
process.send?.(await load({ rate, seconds, send }));
process.disconnect();
