import { spawnSync } from 'node:child_process';
import { cp } from 'node:fs/promises';
import { build } from 'esbuild';
import { BUNDLE_OPTIONS } from '../../scripts/bundle-options.ts';
import { COMPILE_CACHE, NODE_PATH } from '../support/gateway-process.ts';

/** Modules that deliberate bugs change. */
const CHANGED = [
  'database/database',
  'database/database-unavailable',
  'database/postgres-connection',
  'database/sql',
  'database/trust',
  'events/events.service',
  'jobs/member-imports/import-calls',
  'jobs/member-imports/imports.service',
  'jobs/member-imports/known-members',
  'jobs/store/job-rooms-store',
  'jobs/store/job-steps-store',
  'jobs/store/job-store',
  'order-ledger/begin-store',
  'order-ledger/ledger-record',
  'order-ledger/move-store',
  'order-ledger/write-store',
  'tenancy/tenancy.guard',
  'upstream/upstream.client',
  'upstream/upstream.exchange',
  'webhooks/delivery/receivers',
] as const;
export type ChangedModule = (typeof CHANGED)[number];

const FOLDER = 'dist/changeable';
let made: Promise<string> | undefined;

/**
 * A gateway like the shipped bundle, in which these modules can be changed before it starts; from single files a start would take twice as
 * long. Resolves to the file that starts it.
 */
export function changeableGateway(): Promise<string> {
  return (made ??= make());
}

async function make(): Promise<string> {
  await build({
    ...BUNDLE_OPTIONS,
    entryPoints: ['main', ...CHANGED].map((name) => `dist/${name}.js`),
    outbase: 'dist',
    outdir: FOLDER,
    splitting: true,
    // Deliberate bugs load it first.
    external: [...BUNDLE_OPTIONS.external, 'reflect-metadata'],
  });
  const pages = [
    'operation/page-parts',
    'documentation/api-page',
    'console/console-page',
    'estate/estate-page',
  ];
  for (const served of [...pages, 'bundle/node_modules'])
    await cp(`dist/${served}`, `${FOLDER}/${served.split('/')[1]}`, { recursive: true });
  const file = `${FOLDER}/main.js`;
  // A start without settings ends by itself, and so keeps the compiled code for the others, which are killed.
  spawnSync(process.execPath, [file], { env: { PATH: NODE_PATH, NODE_COMPILE_CACHE: COMPILE_CACHE } });
  return file;
}
