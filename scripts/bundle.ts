/**
 * Bundles the built gateway and its packages into one file, because Node needs most of its start for finding and reading thousands of
 * files. The bundle is made from `dist`, which has the metadata of the decorators, and its map leads back to `src`.
 */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import { ownMap } from './own-map.ts';

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

await build({
  entryPoints: { gateway: 'dist/main.js' },
  outdir: 'dist/bundle',
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  external: ABSENT.flatMap((name) => [name, `${name}/*`]),
  // Nest and the OpenAPI document read the names of classes.
  keepNames: true,
  minifyWhitespace: true,
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
  // For the packages that are CommonJS.
  banner: {
    js: "import { createRequire as bundleRequire } from 'node:module'; const require = bundleRequire(import.meta.url);",
  },
});
const MAP = 'dist/bundle/gateway.js.map';
writeFileSync(MAP, JSON.stringify(ownMap(JSON.parse(readFileSync(MAP, 'utf8')))));
// Read beside the code.
cpSync('dist/meta/page', 'dist/bundle/page', { recursive: true });
