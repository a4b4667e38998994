import type { SealedTexts } from '../database/sealed-texts.ts';
import type { HeldAsset } from './estate-row.ts';

export function sealAsset(texts: SealedTexts, enterprise: string, held: HeldAsset): string {
  return texts.seal(JSON.stringify(held), `estate ${enterprise}`);
}

/** Returns undefined where no key of the gateway opens the asset. */
export function openAsset(texts: SealedTexts, enterprise: string, details: string): HeldAsset | undefined {
  const text = texts.open(details, `estate ${enterprise}`);
  return text === undefined ? undefined : (JSON.parse(text) as HeldAsset);
}

/** Hashes of an id, a number or an account in any case of letters, under each key of the gateway; the first is the one that is kept. */
export function keysOf(texts: SealedTexts, text: string): readonly [string, ...string[]] {
  const [first = '', ...others] = texts
    .hashesOf(text.toLowerCase(), 'estate key')
    .map((key) => key.slice(0, 22));
  return [first, ...others];
}
