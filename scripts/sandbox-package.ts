/**
 * `npm run build:sandbox` makes the package for the tests of callers. Its program and the sandbox become one file. Next to it lies the
 * content of the gateway's image, without source maps and without the gateway's other commands. `npm run build:gateway` comes first.
 */
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { build } from 'esbuild';

const OUT = 'sandbox-package/dist';
const GATEWAY = `${OUT}/gateway`;
const BUNDLE = 'dist/bundle';
/** Files that the gateway expects in the same place as in the repository. */
const BESIDE_THE_BUNDLE = [
  ...['CHANGELOG.md', 'docs/operating.md', 'docs/recipes.md'],
  ...['response-examples.json', 'openapi-3.0.json', 'postman-collection.json'].map(
    (name) => `config/${name}`,
  ),
];
/** The documents to which the README of the package links, and the programs of one of them. */
const MANUAL = [
  'sandbox/README.md',
  ...['other-languages', 'platform', 'readings', 'recipes'].map((name) => `docs/${name}.md`),
  'examples/other-languages',
];
const LICENCE = /^(licen[cs]e|copying|notice)/i;
const LEFT_OUT = /\.map$|^(database-(init|backup)|conformance)\.js$|^start\.sh$/;

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;

rmSync(OUT, { recursive: true, force: true });
await build({
  entryPoints: ['main', 'follow-clock'].map((name) => `sandbox-package/src/${name}.ts`),
  outdir: OUT,
  ...{ bundle: true, platform: 'node', format: 'esm', target: 'node24', logLevel: 'warning' },
});
cpSync(BUNDLE, `${GATEWAY}/${BUNDLE}`, {
  recursive: true,
  filter: (path) => !LEFT_OUT.test(basename(path)),
});
for (const path of BESIDE_THE_BUNDLE) {
  mkdirSync(dirname(join(GATEWAY, path)), { recursive: true });
  copyFileSync(path, join(GATEWAY, path));
}
for (const path of MANUAL) cpSync(path, join(OUT, 'manual', path), { recursive: true });
const { name, version, type } = read('package.json');
writeFileSync(
  `${GATEWAY}/package.json`,
  `${JSON.stringify({ name, version, private: true, type }, null, 2)}\n`,
);
writeFileSync(`${OUT}/THIRD-PARTY-LICENSES.txt`, licences());

/** Returns the texts that have to accompany the packages in the bundle. If a package has none, its licence is named. */
function licences(): string {
  const { components } = read(`${BUNDLE}/sbom.cdx.json`) as {
    components: { name: string; version: string; licenses?: [{ license: { name: string } }] }[];
  };
  const locked = Object.entries(read('package-lock.json')['packages'] as Record<string, { version: string }>);
  return components
    .map(({ name: of, version: at, licenses }) => {
      const [place = ''] =
        locked.find(([path, entry]) => path.endsWith(`node_modules/${of}`) && entry.version === at) ?? [];
      const files = readdirSync(place, { withFileTypes: true }).filter(
        (file) => file.isFile() && LICENCE.test(file.name),
      );
      const texts = files.map((file) => readFileSync(join(place, file.name), 'utf8').trim());
      const told = texts.length > 0 ? texts : [`Licence: ${licenses?.[0].license.name ?? 'not named'}`];
      return [`${of} ${at}`, ...told].join('\n\n');
    })
    .join(`\n\n${'='.repeat(72)}\n\n`)
    .concat('\n');
}
