import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ChangedModule } from '../chaos/changeable.ts';

/** What the deliberate bugs of chaos runs are made of: they change the modules of a built gateway before it starts. */

/** A module of the built gateway, with the types of its source. */
export function built<T>(path: string): Promise<T> {
  return import(pathToFileURL(resolve('dist', path)).href) as Promise<T>;
}

/** A module of the changeable gateway, with the types of its source. */
export function changed<T>(name: ChangedModule): Promise<T> {
  return built(`changeable/${name}.js`);
}

type Method = (this: unknown, ...all: unknown[]) => unknown;

/** Wraps a method: `goOn` calls it, with the same arguments or others. */
export function around<R>(
  prototype: object,
  name: string,
  other: (goOn: (...all: unknown[]) => R, all: unknown[]) => unknown,
): void {
  const methods = prototype as Record<string, Method | undefined>;
  const method = methods[name];
  if (!method) throw new Error(`there is no ${name} any more`);
  methods[name] = function (this: unknown, ...all: unknown[]) {
    return other((...others) => method.apply(this, others) as R, all);
  };
}

/** Applies the one that CHAOS_VARIANT names, in a gateway into which a file with deliberate bugs is preloaded. */
export async function applyChosen(
  variants: Readonly<Record<string, { readonly apply: () => Promise<void> }>>,
): Promise<void> {
  const chosen = process.env['CHAOS_VARIANT'];
  if (chosen === undefined) return;
  await import('reflect-metadata');
  await variants[chosen]?.apply();
}
