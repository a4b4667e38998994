import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { BuildOptions, Plugin } from 'esbuild';

/** Packages that Nest loads only if they are installed. They are not. */
const ABSENT = [
  '@nestjs/microservices',
  '@nestjs/platform-express',
  '@nestjs/websockets',
  '@fastify/multipart',
  '@fastify/static',
  '@fastify/view',
  'class-transformer/storage',
];

/**
 * Loads only the used ES modules of class-validator. The others need a tenth of a start, most of it for telephone numbers. Nest's own pipe,
 * which loads all of them when it is called, is not used.
 */
const usedValidators: Plugin = {
  name: 'used-validators',
  setup(build) {
    const path = fileURLToPath(import.meta.resolve('class-validator').replace('/cjs/', '/esm5/'));
    build.onResolve({ filter: /^class-validator$/ }, ({ kind }) =>
      kind === 'dynamic-import' ? { external: true } : { path, sideEffects: false },
    );
  },
};

/**
 * Removes pino's search for its caller, which serves workers that are not used here. For the search, Node decodes the whole source map,
 * which takes a twentieth of a start.
 */
const noCallersOfLog: Plugin = {
  name: 'no-callers-of-log',
  setup(build) {
    const contents = 'module.exports = () => undefined;';
    build.onLoad({ filter: /\/pino\/lib\/caller\.js$/ }, () => ({ contents }));
  },
};

/**
 * Gets Node's own modules when the program does, as `require` does, instead of importing them. For an import Node reads every export of the
 * module, and some of them load what the gateway does not use: `node:http` loads Node's `fetch` and WebSocket.
 */
const nodeModules: Plugin = {
  name: 'node-modules',
  setup(build) {
    build.onResolve({ filter: /^[^./]/ }, ({ path, kind }) =>
      kind === 'import-statement' && isBuiltin(path) ? { path, namespace: 'node-module' } : undefined,
    );
    build.onLoad({ filter: /./, namespace: 'node-module' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

/** Packages that some starts do not need, or no start needs before the first response. */
const LAZY = ['ioredis', 'marked', 'pg'];

/** Loads these packages when the program first uses something of them. */
const lazyPackages: Plugin = {
  name: 'lazy-packages',
  setup(build) {
    build.onResolve({ filter: new RegExp(`^(${LAZY.join('|')})$`) }, ({ path, kind }) =>
      kind === 'import-statement' ? { path, namespace: 'lazy' } : undefined,
    );
    build.onLoad({ filter: /./, namespace: 'lazy' }, async ({ path }) => {
      const names = Object.keys((await import(path)) as object);
      const getters = names.map(
        (name) => `get ${JSON.stringify(name)}() { return load()[${JSON.stringify(name)}]; }`,
      );
      const load = `let loaded; const load = () => (loaded ??= require(${JSON.stringify(path)}));`;
      return { contents: `${load} module.exports = { ${getters.join(', ')} };`, resolveDir: process.cwd() };
    });
  },
};

/**
 * Leaves out parts of axios that are not used, because requests to the platform have an adapter of their own. `form-data` reads the list of
 * all media types at the start. The adapter for `fetch` and the look at the global `FormData` load Node's `fetch`.
 */
const usedAxios: Plugin = {
  name: 'used-axios',
  setup(build) {
    const replace = (filter: RegExp, contents: string) => build.onLoad({ filter }, () => ({ contents }));
    replace(/\/form-data\/lib\/form_data\.js$/, 'module.exports = undefined;');
    replace(
      /\/axios\/lib\/adapters\/fetch\.js$/,
      'export const getFetch = () => false; export default false;',
    );
    build.onLoad({ filter: /\/axios\/lib\/utils\.js$/ }, ({ path }) => {
      const found = "typeof G.FormData !== 'undefined' ? G.FormData : undefined";
      const code = readFileSync(path, 'utf8');
      if (!code.includes(found)) throw new Error(`${path} does not look at the global FormData any more`);
      return { contents: code.replace(found, 'undefined') };
    });
  },
};

const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };

/** Runs before all packages, because some of them throw in an older Node. */
const NODE_CHECK = `{
  const needed = '${engines.node.replace('>=', '')}', present = process.versions.node;
  const [major, minor] = present.split('.').map(Number), [least, leastMinor = 0] = needed.split('.').map(Number);
  if (major < least || (major === least && minor < leastMinor)) {
    process.stderr.write('This needs Node ' + needed + ' or newer, and is run by Node ' + present + '.\\n');
    process.exit(1);
  }
}`;

/**
 * The options that turn the modules of `dist` and their packages into one program. The shipped program uses them, and so does one whose
 * modules a deliberate bug can change.
 */
export const BUNDLE_OPTIONS = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  external: ABSENT.flatMap((name) => [name, `${name}/*`]),
  // Nest and the OpenAPI document read the names of classes.
  keepNames: true,
  logLevel: 'warning',
  plugins: [usedValidators, noCallersOfLog, nodeModules, lazyPackages, usedAxios],
  banner: {
    // The CommonJS packages need the last line.
    js: `${NODE_CHECK}
import { createRequire as bundleRequire } from 'node:module'; const require = bundleRequire(import.meta.url);`,
  },
} as const satisfies BuildOptions;
