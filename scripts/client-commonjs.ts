/**
 * Makes the client in CommonJS from the ES modules that `tsc` has written (`npm run build:client`). Each entry of the package is one file,
 * and requires the other entries, so that all of them have the same `Licensing`.
 */
import { copyFileSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { build } from 'esbuild';
import ts from 'typescript';

const MODULES = 'client/dist';
const OUT = `${MODULES}/cjs`;

const { exports: entries } = JSON.parse(readFileSync('client/package.json', 'utf8')) as {
  exports: Readonly<Record<string, string | { readonly require: { readonly default: string } }>>;
};
const names = Object.values(entries).flatMap((entry) =>
  typeof entry === 'string' ? [] : [basename(entry.require.default)],
);
const { outputFiles } = await build({
  entryPoints: names.map((name) => `${MODULES}/${name}`),
  outdir: OUT,
  ...{ bundle: true, format: 'esm', platform: 'node', target: 'es2022', packages: 'external', write: false },
  external: names.map((name) => `./${name}`),
  // `createRequire` accepts a path too.
  define: { 'import.meta.url': '__filename' },
});
mkdirSync(OUT, { recursive: true });
for (const { path, text } of outputFiles) {
  // The exports of TypeScript are plain assignments, which take less space than those of esbuild.
  const compilerOptions = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 };
  writeFileSync(path, ts.transpileModule(text, { compilerOptions }).outputText);
}
for (const types of globSync(`${MODULES}/*.d.ts`)) copyFileSync(types, `${OUT}/${basename(types)}`);
writeFileSync(`${OUT}/package.json`, '{ "type": "commonjs" }\n');
