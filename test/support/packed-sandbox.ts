import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';

export interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

export const run = promisify(execFile);

/**
 * Packs the sandbox package, as the Dockerfile builds it, and the client, and installs both in the folder `project`, without a registry.
 * Returns what is in the former's tarball.
 */
export async function installPacked(folder: string, project: string): Promise<Packed> {
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }');
  const [client, sandbox] = await Promise.all([
    pack('.', folder, 'pack', '--workspace', 'client'),
    pack(checkout(folder), folder, 'run', '-s', 'pack:sandbox', '--'),
  ]);
  const tarballs = [client, sandbox].map(({ filename }) => join(folder, filename));
  const offline = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts'];
  await run('npm', ['install', ...offline, ...tarballs], { cwd: project });
  return sandbox;
}

/** Packs a workspace from where it lies. */
async function pack(cwd: string, folder: string, ...command: readonly string[]): Promise<Packed> {
  const { stdout } = await run('npm', [...command, '--json', '--pack-destination', folder], { cwd });
  const [only] = JSON.parse(stdout) as [Packed];
  return only;
}

/** A checkout with what the Dockerfile copies before it builds the package, and the build of the gateway. */
function checkout(folder: string): string {
  const path = join(folder, 'checkout');
  for (const stage of ['build', 'package'])
    for (const [, from = '', to = ''] of stageOf(stage).matchAll(/^COPY (.+) (\S+)$/gm))
      for (const source of from.split(' '))
        cpSync(source, join(path, to, statSync(source).isDirectory() ? '' : basename(source)), {
          recursive: true,
          filter: (each) => each !== 'sandbox-package/dist',
        });
  for (const made of ['node_modules', 'dist']) symlinkSync(resolve(made), join(path, made));
  return path;
}

/** A stage of the Dockerfile. */
export function stageOf(name: string): string {
  const [, stage = ''] = readFileSync('Dockerfile', 'utf8').split(new RegExp(`^FROM .* AS ${name}$`, 'm'));
  return stage.split(/^FROM /m)[0] ?? '';
}
