/**
 * Preloaded into the bundled gateway (`--import`): every host name resolves to what the test has sent last, instead of asking the machine.
 * It imports no file of the gateway.
 */
import dns from 'node:dns';

/** Addresses, or the code of the error with which a name does not resolve. */
export type Resolution = readonly string[] | string;

type Done = (error: Error | null, addresses?: unknown, family?: number) => void;

let resolution: Resolution = ['127.0.0.1'];

const lookup = (_name: string, options: { readonly all?: boolean }, done: Done): void => {
  const result = resolution;
  setImmediate(() => {
    if (typeof result === 'string') {
      done(Object.assign(new Error(result), { code: result, syscall: 'getaddrinfo' }));
      return;
    }
    const addresses = result.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    if (options.all === true) done(null, addresses);
    else done(null, addresses[0]?.address, addresses[0]?.family);
  });
};
dns.lookup = lookup as unknown as typeof dns.lookup;

process.on('message', (sent: Resolution) => {
  resolution = sent;
  process.send?.('resolved');
});
// The test may end without keeping the gateway alive.
process.channel?.unref();
