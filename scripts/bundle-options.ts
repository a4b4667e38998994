import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { BuildOptions, Plugin } from 'esbuild';

/** Packages that Nest loads only where they are installed. They are not. */
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
 * The ES modules of class-validator, of which only what is used is loaded: the others need a tenth of a start, most of it for telephone
 * numbers. Nest's own pipe, which loads all of them when it is called, is not used.
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
 * A log of pino asks who makes it, for workers that write it, which are not used. To tell, Node decodes the whole source map: a twentieth
 * of a start.
 */
const noCallersOfLog: Plugin = {
  name: 'no-callers-of-log',
  setup(build) {
    const contents = 'module.exports = () => undefined;';
    build.onLoad({ filter: /\/pino\/lib\/caller\.js$/ }, () => ({ contents }));
  },
};

const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };

/** Runs before all packages, of which some throw in an older Node. */
const NODE_CHECK = `{
  const needed = '${engines.node.replace('>=', '')}', present = process.versions.node;
  if (needed.localeCompare(present, 'en', { numeric: true }) > 0) {
    process.stderr.write('This needs Node ' + needed + ' or newer, and is run by Node ' + present + '.\\n');
    process.exit(1);
  }
}`;

/** How the modules of `dist` and their packages become one program: as it ships, and with modules that a deliberate bug can change. */
export const BUNDLE_OPTIONS = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  external: ABSENT.flatMap((name) => [name, `${name}/*`]),
  // Nest and the OpenAPI document read the names of classes.
  keepNames: true,
  logLevel: 'warning',
  plugins: [usedValidators, noCallersOfLog],
  banner: {
    // The last line is for the packages that are CommonJS.
    js: `${NODE_CHECK}
import { createRequire as bundleRequire } from 'node:module'; const require = bundleRequire(import.meta.url);`,
  },
} as const satisfies BuildOptions;
