/**
 * Preloaded into the bundled gateway (`--import`): at each edge whose name the test has sent, the next work throws instead of running.
 * It imports no file of the gateway.
 */
import vm from 'node:vm';

/** The edge in the bundle, whose first parameter the bundler may have named anew. */
const EDGE = /(?<=function edge\((\w+),.{1,200}?)const result=work\(\.\.\.args\)/g;
const armed = new Set<string>();

Object.assign(globalThis, {
  throwIfArmed: (at: string) => {
    if (armed.delete(at)) throw new RangeError(`made at the edge: ${at}`);
  },
});
vm.Script = class extends vm.Script {
  constructor(source: string, options: vm.ScriptOptions) {
    const isBundle = options.filename?.endsWith('/dist/bundle/program.js');
    if (isBundle && source.match(EDGE)?.length !== 1) throw new Error('the bundle has no edge, or two');
    super(isBundle ? source.replace(EDGE, 'throwIfArmed($1);$&') : source, { filename: options.filename });
    // The compiled code of a changed program is not for other processes.
    this.cachedDataRejected = false;
  }
};

process.on('message', (names: readonly string[]) => {
  for (const name of names) armed.add(name);
  process.send?.('armed');
});
// The test may end without keeping the gateway alive.
process.channel?.unref();
