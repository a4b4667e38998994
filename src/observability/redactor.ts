import { MASK } from '../shared/secret-fields.ts';

/** The shortest value that is masked. A shorter one would match ordinary words. */
const MIN_LENGTH = 4;
/** The fewest digits of base64 that are masked. Fewer would match by chance. */
const MIN_DIGITS = 8;
/** The last characters of a form that are compared before the whole form is. Many passwords end in the same few. */
const TAIL = 8;
/** The number of secrets above the present ones that stay known. Tokens change, so the former ones are forgotten from time to time. */
const MAX_FORMER = 1_000;

/** Returns the present secrets each time. */
export type SecretSource = Iterable<string>;

/**
 * Masks secrets in the log and in responses, as the last defence. Both contain chosen fields only. If one contains a secret nevertheless
 * (in a text of the platform, or in a message that quotes), the redactor masks it, in every encoding that can occur there.
 */
export class Redactor {
  readonly #sources: SecretSource[] = [];
  /** All known secrets, with the tails of their forms. */
  readonly #tails = new Map<string, readonly string[]>();
  /** The tails that end so. With it a text is searched for all secrets at once. */
  readonly #byEnd = new Map<number, { readonly tail: string; readonly secret: string }[]>();

  add(...sources: readonly SecretSource[]): void {
    this.#sources.push(...sources);
  }

  redact(text: string): string {
    return withoutForms(text, this.#formsIn(text));
  }

  /**
   * Returns a function that masks `passing` too: further secrets that only its texts can contain, such as the passwords of a request. They are
   * not kept. The texts of one response share the function, and so the forms that were made.
   */
  alsoMasking(passing: () => readonly string[]): (text: string) => string {
    let secrets: { readonly short: readonly string[]; readonly others: readonly PassingSecret[] } | undefined;
    return (text) => {
      secrets ??= passingSecrets(passing());
      const what = new SearchedText(text);
      const forms = [...this.#formsIn(text), ...secrets.others.flatMap((secret) => secret.formsIn(what))];
      return secrets.short.reduce(withoutWord, withoutForms(text, forms));
    };
  }

  #formsIn(text: string): string[] {
    return [...this.#possibleIn(text)].flatMap((secret) =>
      formsOf(secret).filter((form) => text.includes(form)),
    );
  }

  /** Returns the secrets that may be in the text: some form of them ends like a part of it. */
  #possibleIn(text: string): Set<string> {
    this.#learn();
    const possible = new Set<string>();
    let end = 0;
    for (let at = 0; at < text.length; at++) {
      end = withNext(end, text, at);
      for (const { tail, secret } of this.#byEnd.get(end) ?? [])
        if (text.startsWith(tail, at + 1 - tail.length)) possible.add(secret);
    }
    return possible;
  }

  /** Adds the secrets that the sources have now. */
  #learn(): void {
    let present = 0;
    for (const source of this.#sources)
      for (const secret of source) {
        present++;
        if (!this.#tails.has(secret)) this.#add(secret);
      }
    if (this.#tails.size <= present + MAX_FORMER) return;
    const all = new Set(this.#sources.flatMap((source) => [...source]));
    for (const secret of this.#tails.keys()) if (!all.has(secret)) this.#forget(secret);
  }

  #add(secret: string): void {
    const forms = secret.length < MIN_LENGTH ? [] : formsOf(secret);
    const tails = [...new Set(forms.map((form) => form.slice(-TAIL)))];
    this.#tails.set(secret, tails);
    for (const tail of tails) {
      const others = this.#byEnd.get(endOf(tail));
      if (others) others.push({ tail, secret });
      else this.#byEnd.set(endOf(tail), [{ tail, secret }]);
    }
  }

  #forget(secret: string): void {
    for (const end of new Set(this.#tails.get(secret)?.map(endOf))) {
      const others = this.#byEnd.get(end)?.filter((each) => each.secret !== secret) ?? [];
      if (others.length > 0) this.#byEnd.set(end, others);
      else this.#byEnd.delete(end);
    }
    this.#tails.delete(secret);
  }
}

/** A text, and what it must have so that an encoded form may be in it. */
class SearchedText {
  /** True if it has a character that begins an escape of JSON, of a URL or of a form, or that is a form's blank. */
  readonly hasEscapes: boolean;
  /** The length of its longest row of digits of base64, which are those of hex too. */
  readonly mostDigits: number;

  constructor(readonly text: string) {
    this.hasEscapes = /[\\%+]/.test(text);
    this.mostDigits = (text.match(/[\w+/-]+/g) ?? []).reduce((most, { length }) => Math.max(most, length), 0);
  }
}

/**
 * A secret that is searched in a few texts. Making its forms takes a hundred times as long as a search, and a request may have 49,000
 * passwords, so forms are made only when a text may contain them.
 */
class PassingSecret {
  #escaped: readonly string[] | undefined;
  #digits: readonly string[] | undefined;

  constructor(private readonly secret: string) {}

  formsIn({ text, hasEscapes, mostDigits }: SearchedText): string[] {
    const { secret } = this;
    const forms = [secret];
    if (hasEscapes) forms.push(...(this.#escaped ??= escapedForms(secret)));
    // A secret has at least as many bytes as characters, and shares ten bits at most with neighbours in base64.
    if (mostDigits >= Math.max(MIN_DIGITS, (8 * secret.length - 10) / 6))
      forms.push(...(this.#digits ??= digitForms(secret)));
    return forms.filter((form) => text.includes(form));
  }
}

function passingSecrets(all: readonly string[]) {
  const secrets = [...new Set(all)];
  return {
    short: secrets.filter(({ length }) => length < MIN_LENGTH),
    others: secrets.filter(({ length }) => length >= MIN_LENGTH).map((secret) => new PassingSecret(secret)),
  };
}

/** Returns the last characters of a text as a number. It is the end and not the beginning, because many tokens begin in the same way. */
function endOf(text: string): number {
  let end = 0;
  for (let at = text.length - MIN_LENGTH; at < text.length; at++) end = withNext(end, text, at);
  return end;
}

/** Adds a character to an end. After as many as {@link MIN_LENGTH}, nothing is left of those before. */
function withNext(end: number, text: string, at: number): number {
  return (end << 8) ^ text.charCodeAt(at);
}

function withoutForms(text: string, forms: string[]): string {
  // The longest form is first, because another one may be its beginning.
  forms.sort((one, other) => other.length - one.length);
  return forms.reduce((masked, form) => masked.replaceAll(form, MASK), text);
}

/** Masks a short secret if it is a whole word. Within words and numbers it would match by chance. */
function withoutWord(text: string, secret: string): string {
  if (secret === '' || !text.includes(secret)) return text;
  const alone = `(?<![\\p{Script=Latin}\\p{N}])${RegExp.escape(secret)}(?![\\p{Script=Latin}\\p{N}])`;
  return text.replaceAll(new RegExp(alone, 'gu'), MASK);
}

/** Returns the forms of a secret: unchanged, escaped, in base64 and in hex. */
function formsOf(secret: string): string[] {
  return [...new Set([secret, ...escapedForms(secret), ...digitForms(secret)])];
}

/** Returns the forms in JSON, and JSON within JSON, and in a URL or a form, with hex digits in both cases. A form without an escape is the secret. */
function escapedForms(secret: string): string[] {
  const inUrl = [encodeURIComponent(secret.toWellFormed()), asFormField(secret), everyBytePercent(secret)];
  const forms = new Set([
    ...[quoted(secret), ascii(quoted(secret))].flatMap((each) => [each, each.replaceAll('/', '\\/')]),
    quoted(quoted(secret)),
    ...inUrl.flatMap((each) => [each, each.replaceAll(/%[\dA-F]{2}/g, (digits) => digits.toLowerCase())]),
  ]);
  forms.delete(secret);
  return [...forms];
}

function digitForms(secret: string): string[] {
  const hex = Buffer.from(secret).toString('hex');
  return [...new Set([hex, hex.toUpperCase(), ...[0, 1, 2].flatMap((offset) => base64(secret, offset))])];
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
  const bytes = Buffer.from(secret).toString('latin1');
  return bytes.replaceAll(
    /[^A-Za-z0-9]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

/** Escapes characters outside of ASCII as JSON does. */
function ascii(text: string): string {
  return text.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
