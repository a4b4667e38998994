/**
 * Makes the command `licensing` one file, so that the client package has no dependencies. It is a part of `npm run build:client`. The
 * licences of the packages in the file lie next to it.
 */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const OUT = 'client/dist/cli';
const LICENCE = /^licen[cs]e/i;

rmSync(OUT, { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: ['client/src/cli/main.ts'],
  outdir: OUT,
  ...{
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    charset: 'utf8',
    metafile: true,
  },
  // Commander is CommonJS.
  banner: {
    js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
  },
  logLevel: 'warning',
});
const folders = Object.keys(metafile.inputs).flatMap(
  (path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [],
);
const licences = [...new Set(folders)].sort().map((folder) => {
  const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    name: string;
    version: string;
  };
  const file = readdirSync(folder).find((each) => LICENCE.test(each));
  if (file === undefined) throw new Error(`${folder} has no file of its licence`);
  return `${name} ${version}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`;
});
writeFileSync(join(OUT, 'THIRD-PARTY-LICENSES.txt'), licences.join(`\n${'='.repeat(72)}\n\n`));
