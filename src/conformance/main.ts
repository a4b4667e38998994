import 'reflect-metadata';
import { runConformance } from './run.ts';

/**
 * `npm run conformance` uses the gateway's own environment to find out how the platform behaves where its interface is silent
 * (docs/readings.md), and writes a profile. It is part of the build, so that the image has it too (`node dist/bundle/conformance.js`).
 */

const over = new AbortController();
// The listeners stay, because npm sends a signal again that the terminal has sent already, and a second signal must not cut off the removal.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => over.abort());
process.exitCode = await runConformance(process.argv.slice(2), {
  ...{ environment: process.env, input: process.stdin, output: process.stdout, errors: process.stderr },
  over: over.signal,
});
