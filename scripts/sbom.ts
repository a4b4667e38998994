import { readFileSync } from 'node:fs';

interface Locked {
  readonly version: string;
  readonly integrity: string;
  readonly license?: string;
}

/** Makes the image's description of itself: the packages whose files are in the bundle, as CycloneDX 1.5. */
export function sbomOf(files: readonly string[]): object {
  const read = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  const { name, version } = read('package.json');
  const locked = read('package-lock.json')['packages'] as Record<string, Locked>;
  // If `node_modules` is a link, the files have the names of the link's target.
  const inside = files.map((file) => file.slice(Math.max(0, file.indexOf('node_modules/'))));
  const places = new Set(inside.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? []));
  const components = [...places].map((place) => componentOf(place, locked[place]));
  const byPurl = new Map(components.map((component) => [component.purl, component]));
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { component: { type: 'application', name, version } },
    components: [...byPurl.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1)),
  };
}

function componentOf(place: string, locked: Locked | undefined) {
  if (!locked) throw new Error(`${place} is in the bundle and not in package-lock.json`);
  const [, name = ''] = /node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(place) ?? [];
  const { version, integrity, license } = locked;
  const [algorithm, hash = ''] = integrity.split('-');
  if (algorithm !== 'sha512') throw new Error(`${place} has a hash of another kind: ${algorithm}`);
  return {
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    hashes: [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }],
    ...(license !== undefined && { licenses: [{ license: { name: license } }] }),
  };
}
