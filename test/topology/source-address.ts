/** Preloaded into a gateway (`--import`): its connections come from the address in SOURCE_ADDRESS, see network.ts. */
import { Socket } from 'node:net';

type Target = { path?: string; localAddress?: string };

const localAddress = process.env['SOURCE_ADDRESS'] ?? '';
// eslint-disable-next-line @typescript-eslint/unbound-method -- it is given its socket below
const connect = Socket.prototype.connect as (this: Socket, ...all: unknown[]) => Socket;
Socket.prototype.connect = function (this: Socket, ...all: unknown[]): Socket {
  // Node passes its arguments on as a list with the target first.
  const [target] = (Array.isArray(all[0]) ? all[0] : all) as [Target];
  if (typeof target === 'object' && target.path === undefined) target.localAddress = localAddress;
  return connect.apply(this, all);
} as typeof connect;
