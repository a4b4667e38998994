import type { Socket } from 'node:net';

/** Resolves when the socket is closed, also where its peer reset the connection: `once` of `node:events` would reject then. */
export function whenClosed(socket: Socket): Promise<void> {
  socket.on('error', () => undefined);
  return socket.closed ? Promise.resolve() : new Promise((resolve) => socket.once('close', () => resolve()));
}
