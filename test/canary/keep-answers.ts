import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { keep, keepAnswers } from '../support/canary.ts';

/** Preloaded into a gateway: whatever it answers, on either listener, is kept for the scan. */
// Opened now: there may be no file descriptor left when the first answer goes out.
keep('answers', '');
subscribe('net.server.socket', (message) => keepAnswers((message as { socket: Socket }).socket));
