import { subscribe } from 'node:diagnostics_channel';
import { openSync, writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/**
 * A preload that keeps the responses of a gateway, on both listeners, for the scan. `keepAnswers` in `test/support/canary.ts` does the same
 * within a process. For a file with types, Node would load its compiler of types in each gateway, which takes a tenth of a second.
 * Threads load this file too, and have no responses.
 */
if (isMainThread) {
  // Opened now, since no file descriptor may be left at the first response.
  const file = openSync(`${process.env['CANARY_FOLDER']}/answers.${process.pid}.0`, 'a');
  subscribe('net.server.socket', ({ socket }) => {
    const write = socket.write.bind(socket);
    socket.write = (chunk, ...rest) => {
      writeSync(file, chunk);
      return write(chunk, ...rest);
    };
  });
}
