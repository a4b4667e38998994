/**
 * Preloaded into the bundled gateway (`--import`): at each edge whose name the test has sent, the next work throws instead of running.
 * It imports no file of the gateway.
 */
import { registerHooks } from 'node:module';

/** The edge in the bundle, whose first parameter the bundler may have named anew. */
const EDGE = /(?<=function edge\((\w+),.{1,200}?)const result=work\(\.\.\.args\)/g;
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
    if (source.match(EDGE)?.length !== 1) throw new Error('the bundle has no edge, or two');
    return { ...loaded, source: source.replace(EDGE, 'throwIfArmed($1);$&') };
  },
});

process.on('message', (names: readonly string[]) => {
  for (const name of names) armed.add(name);
  process.send?.('armed');
});
// The test may end without keeping the gateway alive.
process.channel?.unref();
