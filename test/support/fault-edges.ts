/**
 * Preloaded into the bundled gateway (`--import`): at each edge whose name the test has sent, the next work throws instead of running.
 * It imports no file of the gateway.
 */
import { registerHooks } from 'node:module';

const CALL = 'const result=work(...args)';
const armed = new Set<string>();

Object.assign(globalThis, {
  throwIfArmed: (at: string) => {
    if (armed.delete(at)) throw new RangeError(`made at the edge: ${at}`);
  },
});
registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context);
    if (!url.endsWith('/dist/bundle/gateway.js')) return loaded;
    const source = Buffer.from(loaded.source as Uint8Array).toString();
    if (source.split(CALL).length !== 2) throw new Error('the bundle has no edge, or two');
    return { ...loaded, source: source.replace(CALL, `throwIfArmed(at);${CALL}`) };
  },
});

process.on('message', (names: readonly string[]) => {
  for (const name of names) armed.add(name);
  process.send?.('armed');
});
// The test may end without keeping the gateway alive.
process.channel?.unref();
