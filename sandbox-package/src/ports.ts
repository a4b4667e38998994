import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Returns why no server can listen on this port, or undefined. It runs before any server starts, because another server on the port would
 * respond in place of ours.
 */
export async function faultOfPort(port: number, host = '127.0.0.1'): Promise<string | undefined> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    return faultOfListening(error);
  }
  server.close();
  await once(server, 'close');
  return undefined;
}

/** Describes an error of `listen`. */
export function faultOfListening(error: unknown): string {
  return (error as NodeJS.ErrnoException).code === 'EADDRINUSE' ? 'is in use' : 'cannot be listened on';
}

export function portRefusal(option: string, port: number, fault: string): string {
  return `Port ${port} ${fault}: choose another one by ${option}.`;
}
