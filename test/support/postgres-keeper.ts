/**
 * Keeps the PostgreSQL server that the suites share, and the files with which they start others. The processes that use them hold a
 * connection to this one, and it ends a while after the last of them has ended, however they ended.
 */
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { newCluster, type RunningPostgres, SHARED_SOCKET, startCopy } from './postgres.ts';

const LINGER_MS = 5_000;

const users = new Set<Socket>();
let running: RunningPostgres | undefined;
let template = '';
let ending: NodeJS.Timeout | undefined;

const server = createServer((socket) => {
  users.add(socket);
  clearTimeout(ending);
  socket.on('error', () => undefined);
  socket.on('close', () => {
    users.delete(socket);
    endSoon();
  });
  tell(socket);
});

function tell(socket: Socket): void {
  if (!running) return;
  const { port, password } = running;
  socket.write(`${JSON.stringify({ port, password, template })}\n`);
}

function endSoon(): void {
  clearTimeout(ending);
  if (users.size > 0) return;
  ending = setTimeout(() => {
    // First, so that whoever comes now starts another one.
    server.close();
    void running?.stop().finally(() => {
      rmSync(template, { recursive: true, force: true });
      process.exit(0);
    });
  }, LINGER_MS);
}

async function isTaken(): Promise<boolean> {
  const socket = connect(SHARED_SOCKET);
  const taken = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'error').then(() => false),
  ]).catch(() => false);
  socket.destroy();
  return taken;
}

if (await isTaken()) process.exit(0);
rmSync(SHARED_SOCKET, { force: true });
server.listen(SHARED_SOCKET);
await once(server, 'listening');
const cluster = await newCluster();
template = cluster.folder;
running = await startCopy(cluster);
// Whoever asks next starts another one: nobody is told of a server that is gone.
running.process.once('exit', () => server.listening && process.exit(1));
for (const socket of users) tell(socket);
endSoon();
