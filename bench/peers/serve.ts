import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Listens on a free port, tells the bench which, and ends with it: also when it was killed. */
export function serve(server: Server): void {
  server.listen(0, '127.0.0.1', () => {
    process.send?.({ port: (server.address() as AddressInfo).port });
  });
  process.once('disconnect', () => process.exit());
  // Ctrl-C reaches the whole group: the bench ends its children itself, in order.
  process.on('SIGINT', () => undefined);
}
