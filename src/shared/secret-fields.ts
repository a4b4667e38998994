/** A raw number has digits that no double holds. TypeScript does not know the function. */
const engine = JSON as unknown as { isRawJSON(value: object): boolean };

/** What stands in the place of a secret, wherever one would be seen. */
export const MASK = '[secret]';

const names = new Set<string>();

/** A field of that name holds a secret. The rules of secret fields say so: it is not declared anywhere else. */
export function declareSecretField(name: string): void {
  names.add(name);
}

/** The values of a request, as it came or as it is sent to the platform, that must not come back in any text. */
export function secretValues(value: unknown): string[] {
  const found: string[] = [];
  visit(value, (secret) => {
    if (secret !== '') found.push(secret);
    return secret;
  });
  return found;
}

/** A copy in which every secret is masked. */
export function withoutSecrets(value: unknown): unknown {
  return visit(value, () => MASK);
}

function visit(value: unknown, atSecret: (secret: string) => string, isSecret = false): unknown {
  if (typeof value === 'string') return isSecret ? atSecret(value) : value;
  if (Array.isArray(value)) return value.map((item) => visit(item, atSecret, isSecret));
  if (typeof value !== 'object' || value === null || engine.isRawJSON(value)) return value;
  const members = Object.entries(value).map(
    ([name, member]) => [name, visit(member, atSecret, isSecret || names.has(name))] as const,
  );
  return Object.fromEntries(members);
}
