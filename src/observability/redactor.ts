import { MASK } from '../shared/secret-fields.ts';

/** The shortest value that is masked. A shorter one would match ordinary words. */
const MIN_LENGTH = 4;
/** The fewest digits of base64 that are masked. Fewer would match by chance. */
const MIN_DIGITS = 8;
/** The most remembered forms of secrets. Tokens change, so the memory is emptied when it is full. */
const MAX_REMEMBERED = 1_000;

/** Returns the present secrets each time. */
export type SecretSource = Iterable<string>;

/**
 * Masks secrets in the log and in responses, as the last defence. Both contain chosen fields only. If one contains a secret nevertheless
 * (in a text of the platform, or in a message that quotes), the redactor masks it, in every encoding that can occur there.
 */
export class Redactor {
  readonly #sources: SecretSource[] = [];
  readonly #forms = new Map<string, readonly string[]>();

  add(...sources: readonly SecretSource[]): void {
    this.#sources.push(...sources);
  }

  /** `passing` has further secrets that only this text can contain, such as the passwords of a request. They are not kept. */
  redact(text: string, passing: readonly string[] = []): string {
    const found: string[] = [];
    for (const source of this.#sources)
      for (const secret of source)
        for (const form of this.#formsOf(secret)) if (text.includes(form)) found.push(form);
    const short: string[] = [];
    for (const secret of new Set(passing)) {
      if (secret.length < MIN_LENGTH) short.push(secret);
      else for (const form of formsOf(secret)) if (text.includes(form)) found.push(form);
    }
    // The longest secret is first, because another secret may be its beginning.
    found.sort((one, other) => other.length - one.length);
    const clean = found.reduce((masked, form) => masked.replaceAll(form, MASK), text);
    return short.reduce(withoutWord, clean);
  }

  #formsOf(secret: string): readonly string[] {
    const known = this.#forms.get(secret);
    if (known) return known;
    if (this.#forms.size >= MAX_REMEMBERED) this.#forms.clear();
    const forms = secret.length < MIN_LENGTH ? [] : formsOf(secret);
    this.#forms.set(secret, forms);
    return forms;
  }
}

/** Masks a short secret if it is a whole word. Within words and numbers it would match by chance. */
function withoutWord(text: string, secret: string): string {
  if (secret === '' || !text.includes(secret)) return text;
  const alone = `(?<![\\p{Script=Latin}\\p{N}])${RegExp.escape(secret)}(?![\\p{Script=Latin}\\p{N}])`;
  return text.replaceAll(new RegExp(alone, 'gu'), MASK);
}

/**
 * Returns the forms of a secret: unchanged; in JSON, and JSON within JSON; in a URL or a form, with hex digits in both cases; in base64 and
 * in hex.
 */
function formsOf(secret: string): string[] {
  const hex = Buffer.from(secret).toString('hex');
  const inUrl = [encodeURIComponent(secret.toWellFormed()), asFormField(secret), everyBytePercent(secret)];
  const forms = [
    secret,
    ...[quoted(secret), ascii(quoted(secret))].flatMap((each) => [each, each.replaceAll('/', '\\/')]),
    quoted(quoted(secret)),
    ...inUrl.flatMap((each) => [each, each.replaceAll(/%[\dA-F]{2}/g, (digits) => digits.toLowerCase())]),
    hex,
    hex.toUpperCase(),
    ...[0, 1, 2].flatMap((offset) => base64(secret, offset)),
  ];
  return [...new Set(forms)];
}

/** Returns the secret's own base64 digits between other bytes (`key:secret`), in both alphabets. Returns none if they are too few. */
function base64(secret: string, offset: number): string[] {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
  const digits = bytes
    .toString('base64')
    .slice(Math.ceil((offset * 8) / 6), Math.floor((bytes.length * 8) / 6));
  return digits.length < MIN_DIGITS ? [] : [digits, digits.replaceAll('+', '-').replaceAll('/', '_')];
}

/** Encodes as application/x-www-form-urlencoded: a space becomes a plus, and more characters are encoded than in a URL. */
function asFormField(secret: string): string {
  return new URLSearchParams({ '': secret }).toString().slice(1);
}

function everyBytePercent(secret: string): string {
  const byte = (value: number) => `%${value.toString(16).toUpperCase().padStart(2, '0')}`;
  return Array.from(Buffer.from(secret), (value) => {
    const character = String.fromCharCode(value);
    return /[A-Za-z0-9]/.test(character) ? character : byte(value);
  }).join('');
}

/** Escapes characters outside of ASCII as JSON does. */
function ascii(text: string): string {
  return text.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
