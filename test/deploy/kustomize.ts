import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';

/** An object of Kubernetes. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Record<string, string>;
  };
  readonly [part: string]: unknown;
}

interface Kustomization {
  readonly apiVersion: string;
  readonly kind: string;
  readonly resources?: readonly string[];
  /** Folders of kind Component: they add resources to those of this folder, and patch them. */
  readonly components?: readonly string[];
  readonly namespace?: string;
  readonly images?: readonly { readonly name: string; readonly newTag?: string }[];
  readonly patches?: readonly {
    readonly target: { readonly kind: string; readonly name: string };
    /** JSON patch (RFC 6902), in YAML. */
    readonly patch: string;
  }[];
}

interface Step {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

const KNOWN = ['apiVersion', 'kind', 'resources', 'components', 'namespace', 'images', 'patches'];
/** These kinds belong to the cluster as a whole. */
const WITHOUT_NAMESPACE = ['Namespace'];

/**
 * What `kubectl kustomize` makes of a folder (of a component: of the objects `before` it), for the few features that deploy/kubernetes uses; any other is an error. Debian's kubectl is
 * too old for it. A test compares both where a newer kubectl is installed.
 */
export function kustomize(folder: string, before: readonly Manifest[] = []): Manifest[] {
  const rules = parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8')) as Kustomization;
  const unknown = Object.keys(rules).filter((name) => !KNOWN.includes(name));
  if (unknown.length > 0) throw new Error(`${folder}: ${unknown.join(', ')} is not known here`);
  let all = [...before];
  for (const name of rules.resources ?? []) {
    const path = join(folder, name);
    all.push(...(statSync(path).isDirectory() ? kustomize(path) : documents(path)));
  }
  for (const name of rules.components ?? []) all = kustomize(join(folder, name), all);
  for (const { target, patch } of rules.patches ?? []) {
    const matching = all.filter(
      ({ kind, metadata }) => kind === target.kind && metadata.name === target.name,
    );
    if (matching.length !== 1) throw new Error(`${folder}: no ${target.kind} ${target.name} to patch`);
    for (const step of parse(patch) as Step[]) applyStep(matching[0], step);
  }
  for (const manifest of all) {
    if (rules.namespace !== undefined && !WITHOUT_NAMESPACE.includes(manifest.kind))
      Object.assign(manifest.metadata, { namespace: rules.namespace });
    for (const container of containersOf(manifest)) {
      const image = rules.images?.find(({ name }) => name === container.image);
      if (image?.newTag !== undefined) container.image = `${image.name}:${image.newTag}`;
    }
  }
  return all;
}

export interface Container {
  readonly name: string;
  image: string;
  readonly [part: string]: unknown;
}

export function containersOf(manifest: Manifest): Container[] {
  const spec = manifest['spec'] as { template?: { spec?: { containers?: Container[] } } } | undefined;
  return spec?.template?.spec?.containers ?? [];
}

function documents(path: string): Manifest[] {
  return parseAllDocuments(readFileSync(path, 'utf8')).map((document) => {
    if (document.errors.length > 0) throw new Error(`${path}: ${document.errors.join(', ')}`);
    return document.toJS() as Manifest;
  });
}

function applyStep(target: unknown, { op, path, value }: Step): void {
  const names = path.slice(1).split('/');
  const last = names.pop() as string;
  let place = target as Record<string, unknown>;
  for (const name of names) place = place[name] as Record<string, unknown>;
  if (Array.isArray(place) && op === 'add' && last === '-') place.push(value);
  else if (op === 'add' || (op === 'replace' && last in place)) place[last] = value;
  else if (op === 'remove' && last in place) delete place[last];
  else throw new Error(`${op} ${path} cannot be applied`);
}
