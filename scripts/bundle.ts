/**
 * Bundles the built gateway and its packages into one file, because Node needs most of its start for finding and reading thousands of
 * files. The other programs are bundled in the same way. The bundle is made from `dist`, which has the metadata of the decorators, and its
 * map leads back to `src`. `dist/bundle` needs no other packages: the image has nothing else.
 */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { build } from 'esbuild';
import { markBuilt } from './built.ts';
import { BUNDLE_OPTIONS } from './bundle-options.ts';
import { withoutFunctionNames } from './function-names.ts';
import { ownMap } from './own-map.ts';
import { sbomOf } from './sbom.ts';

/** Files that the API page serves unchanged. Node finds them next to the bundle as it does in the repository. */
const SERVED = ['package.json', 'LICENSE', 'NOTICE', 'swagger-ui.css', 'swagger-ui-bundle.js'].map(
  (name) => `node_modules/swagger-ui-dist/${name}`,
);

const PROGRAMS = {
  gateway: 'dist/main.js',
  'database-init': 'dist/database/init.js',
  'database-backup': 'dist/database/backup.js',
  // The gateway starts this file as a thread, and looks for it next to its own file.
  'sqlite-worker': 'dist/database/sqlite-worker.js',
  conformance: 'dist/conformance/main.js',
};

/** V8 keeps a text with any other character in two bytes each, and a start that reads such a bundle takes a twentieth longer. */
const inAscii = (code: string): string =>
  code.replaceAll(
    /[\u0080-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const { metafile } = await build({
  entryPoints: PROGRAMS,
  outdir: 'dist/bundle',
  ...BUNDLE_OPTIONS,
  minifyWhitespace: true,
  sourcemap: true,
  sourcesContent: false,
  metafile: true,
});
for (const name of Object.keys(PROGRAMS)) {
  const file = `dist/bundle/${name}.js`;
  writeFileSync(file, inAscii(withoutFunctionNames(readFileSync(file, 'utf8'))));
  writeFileSync(`${file}.map`, JSON.stringify(ownMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')))));
}
// Read beside the code: in one folder for all, so no two of them may have one name.
const pages = [
  'operation/page-parts',
  'documentation/api-page',
  'console/console-page',
  'estate/estate-page',
];
for (const page of pages)
  cpSync(`dist/${page}`, `dist/bundle/${basename(page)}`, {
    recursive: true,
    errorOnExist: true,
    force: false,
  });
cpSync('src/start.sh', 'dist/bundle/start.sh');
for (const file of SERVED) cpSync(file, `dist/bundle/${file}`);
const files = [...Object.keys(metafile.inputs), ...SERVED];
writeFileSync('dist/bundle/sbom.cdx.json', `${JSON.stringify(sbomOf(files), null, 2)}\n`);
markBuilt('.');
