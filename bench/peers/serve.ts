import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Listens, prints its address for the bench, and ends with the bench, even if the bench was killed. */
export function serve(server: Server): void {
  server.keepAliveTimeout = 72_000;
  server.listen(Number(process.env['PORT'] ?? 0), '127.0.0.1', () => {
    if (process.send) process.send({ port: (server.address() as AddressInfo).port });
    // The process was started alone, to have its code compiled.
    else process.exit();
  });
  process.once('disconnect', () => process.exit());
  // Ctrl-C reaches the whole group: the bench ends its children itself.
  process.on('SIGINT', () => undefined);
}
