/** A number whose digits no double can hold. TypeScript does not know it. */
interface RawNumber {
  readonly rawJSON: string;
}
const engine = JSON as unknown as { isRawJSON(value: object): value is RawNumber };

/** The text that replaces a secret wherever it would be visible. */
export const MASK = '[secret]';

const names = new Set<string>();

/** Declares that a field of that name holds a secret. The rules of secret fields call this, so no other declaration is needed. */
export function declareSecretField(name: string): void {
  names.add(name);
}

/** Returns the values of a request, as the gateway received it or as it sends it to the platform, that must not appear in any text. */
export function secretValues(value: unknown): string[] {
  const found: string[] = [];
  visit(value, (secret) => {
    if (secret !== '') found.push(secret);
    return secret;
  });
  return found;
}

/** Returns a copy for a reader: every secret is masked, and a number that JSON.parse would round is the text of its digits. */
export function withoutSecrets(value: unknown): unknown {
  return visit(value, () => MASK);
}

function visit(value: unknown, atSecret: (secret: string) => string, isSecret = false): unknown {
  if (typeof value === 'string') return isSecret ? atSecret(value) : value;
  if (Array.isArray(value)) return value.map((item) => visit(item, atSecret, isSecret));
  if (typeof value !== 'object' || value === null) return value;
  if (engine.isRawJSON(value)) {
    const number = Number(value.rawJSON);
    return Number.isSafeInteger(number) ? number : value.rawJSON;
  }
  const members = Object.entries(value).map(
    ([name, member]) => [name, visit(member, atSecret, isSecret || names.has(name))] as const,
  );
  return Object.fromEntries(members);
}
