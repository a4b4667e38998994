import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { keep, keepAnswers } from '../support/canary.ts';

/** Preloaded into a gateway: keeps its responses, on both listeners, for the scan. */
// Opened now, since no file descriptor may be left at the first response.
keep('answers', '');
subscribe('net.server.socket', (message) => keepAnswers((message as { socket: Socket }).socket));
