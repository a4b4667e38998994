import type { Answer } from '../support/contract.ts';

/** Texts that no caller may read: addresses and implementation details. */
const OF_THE_INSIDE: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['a stack frame', /\n\s+at |^\s*at .+:\d+:\d+/m],
  ['a source file', /\b[\w.-]+\.[cm]?[jt]s:\d+|node_modules|node:internal/],
  ['a path of the machine', /(?:\/(?:home|root|tmp|usr|work|app|var|opt|etc)\/)[\w.-]/],
  ['an address', /\b127\.0\.0\.1\b|\blocalhost\b|\[::1?\]/],
  ['a system error', /\bE(?:CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|NOTFOUND|AI_AGAIN|ACCES|NOENT)\b|UND_ERR/],
  [
    'an error of the language',
    /\b(?:Type|Range|Syntax|Reference|Assertion)Error\b|Cannot read propert|is not a function|Unexpected token/,
  ],
  [
    'a name of a library',
    /\b(?:fastify|undici|axios|ioredis|class-validator|class-transformer|nestjs|redis)\b/i,
  ],
];

/**
 * The first part of a problem that reveals internals, or what `own` finds: addresses, folders. Successes show the platform's data.
 */
export function leaksIn(
  own: readonly (string | RegExp)[],
  { status, text, headers }: Answer,
): string | undefined {
  const all = `${text}\n${[...headers].map(([name, value]) => `${name}: ${value}`).join('\n')}`;
  const told = own.find((each) => (typeof each === 'string' ? all.includes(each) : each.test(all)));
  if (told !== undefined) return `${told} in ${all}`;
  if (status < 400) return undefined;
  for (const [what, pattern] of OF_THE_INSIDE) {
    const found = pattern.exec(all);
    if (found) return `${what}, ${JSON.stringify(found[0])}, in ${all}`;
  }
  return undefined;
}
