import type { BuildOptions } from 'esbuild';

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
  // For the packages that are CommonJS.
  banner: {
    js: "import { createRequire as bundleRequire } from 'node:module'; const require = bundleRequire(import.meta.url);",
  },
} as const satisfies BuildOptions;
