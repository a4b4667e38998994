const MASK = '[secret]';
/** A shorter one would mask half the language, and is no secret. */
const MIN_LENGTH = 4;
/** Of base64: fewer are found by chance. */
const MIN_DIGITS = 8;
/** Tokens come and go: what is remembered of their forms is forgotten now and then. */
const MAX_REMEMBERED = 1_000;

/** Names the secrets that are in use at the moment it is asked. */
export type SecretSource = () => Iterable<string>;

/**
 * The last line of defence of the log and of what callers are told: both are made of chosen fields, and where a secret is in one all the
 * same (in the words of the platform, in a message that quotes) it is masked, in every form that it can take there.
 */
export class Redactor {
  readonly #sources: SecretSource[] = [];
  readonly #forms = new Map<string, readonly string[]>();

  add(source: SecretSource): void {
    this.#sources.push(source);
  }

  /** A line of the log, fit to be written. */
  redactLine(line: string): string {
    // All but one line in a thousand is one of these: numbers, and words that the gateway chose. They must cost nothing.
    const isOwn = !line.includes('"problem":') || line.includes('"problem":"overloaded"');
    return isOwn && line.includes('"event":"request"') ? line : this.redact(line);
  }

  /** `passing`: further secrets that only this text could have, such as the passwords of a request. Nothing of them is kept. */
  redact(text: string, passing: readonly string[] = []): string {
    const found: string[] = [];
    for (const source of this.#sources)
      for (const secret of source())
        for (const form of this.#formsOf(secret)) if (text.includes(form)) found.push(form);
    for (const secret of new Set(passing)) {
      // A short one has no other forms worth the search, and by itself it is still the secret of a person.
      const forms = secret.length < MIN_LENGTH ? [secret] : formsOf(secret);
      for (const form of forms) if (form !== '' && text.includes(form)) found.push(form);
    }
    // The longest first: another may be its beginning.
    found.sort((one, other) => other.length - one.length);
    return found.reduce((clean, form) => clean.replaceAll(form, MASK), text);
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

/** As it is; in JSON, in JSON in JSON; in a URL or a form, its hex digits in both cases; in base64 and in hex. */
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

/** Its own digits where other bytes are before it (`key:secret`) and behind, in both alphabets; none where they are too few. */
function base64(secret: string, offset: number): string[] {
  const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
  const digits = bytes
    .toString('base64')
    .slice(Math.ceil((offset * 8) / 6), Math.floor((bytes.length * 8) / 6));
  return digits.length < MIN_DIGITS ? [] : [digits, digits.replaceAll('+', '-').replaceAll('/', '_')];
}

/** application/x-www-form-urlencoded: a space is a plus, and more is encoded than in a URL. */
function asFormField(secret: string): string {
  return new URLSearchParams({ '': secret }).toString().slice(1);
}

/** Everything but letters and digits encoded, as some libraries do. */
function everyBytePercent(secret: string): string {
  const byte = (value: number) => `%${value.toString(16).toUpperCase().padStart(2, '0')}`;
  return Array.from(Buffer.from(secret), (value) => {
    const character = String.fromCharCode(value);
    return /[A-Za-z0-9]/.test(character) ? character : byte(value);
  }).join('');
}

/** Other characters as JSON escapes them for ASCII. */
function ascii(text: string): string {
  return text.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
