import { resolve } from 'node:path';

/** The program of the oldest Node that the client runs on; a workspace has it, so that it is in the lock file. */
export const OLDEST_NODE = resolve(`test/default-nest/node_modules/node-linux-${process.arch}/bin/node`);
