import { parentPort, workerData } from 'node:worker_threads';
import { load } from './load.ts';

/** Callers that read at a fixed rate, in a thread of their own so that the emulated platform does not delay them. Posts the samples. */

const { url, key, rate, seconds } = workerData as { url: string; key: string; rate: number; seconds: number };
const send = () => fetch(url, { headers: { 'x-api-key': key } });
parentPort?.postMessage(await load({ rate, seconds, send }));
