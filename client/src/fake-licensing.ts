import { Licensing } from './licensing.ts';

type Methods<Group> = { readonly [Name in keyof Group]?: Group[Name] };

/** The replacements of methods for a test without a gateway. */
export type Fakes = {
  readonly [Group in keyof Licensing]?: Licensing[Group] extends (...given: never[]) => unknown
    ? Licensing[Group]
    : Methods<Licensing[Group]>;
};

/** Makes a client for unit tests. It has these methods, and every other one rejects with its name. Nothing is sent. */
export function fakeLicensing(fakes: Fakes = {}): Licensing {
  const licensing = new Licensing({ baseUrl: 'http://licensing.invalid', apiKey: 'fake', fetch: notFaked });
  for (const [group, methods] of Object.entries(licensing) as [string, Record<string, unknown>][])
    for (const name of Object.keys(methods))
      if (name !== 'placeAndWait') methods[name] = unfaked(group, name);
  // A view of a fake is the fake itself, because its methods are the same.
  licensing.as = licensing.withSession = () => licensing;
  for (const [group, methods] of Object.entries(fakes)) {
    if (typeof methods === 'function') Object.assign(licensing, { [group]: methods });
    else Object.assign(licensing[group as 'orders'], methods);
  }
  return licensing;
}

/** Returns a function that rejects at the first use, even for a walk or a job. */
function unfaked(group: string, name: string): () => unknown {
  const error = () => new Error(`${group}.${name} is not faked: give it to fakeLicensing`);
  if (name.startsWith('each'))
    // oxlint-disable-next-line require-yield
    return async function* () {
      throw error();
    };
  if (name === 'follow')
    return () => {
      throw error();
    };
  return () => Promise.reject(error());
}

function notFaked(): never {
  throw new Error('A fake client sends nothing');
}
