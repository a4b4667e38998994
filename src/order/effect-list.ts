import type { KeptEffect, KeptInstance } from '../order-ledger/ledger-record.ts';
import { type DryRunEffect, effectOf, type EffectTerms } from '../request/dry-run.ts';
import type { AssetContent, Instance } from '../upstream/wire/instances.ts';
import { lossOf, type LostProducts, type MeantHere } from './deletion-loss.ts';

/** The place of an effect. */
export type AssetPlace = Pick<DryRunEffect, 'enterpriseGlobalId' | 'assetId' | 'assetNum'>;

/** The instances that a deletion means on an asset. `kind` is its effect where the content of the asset cannot be read. */
interface Meaning extends MeantHere {
  readonly kind: DryRunEffect['kind'];
}

interface MeantAsset {
  readonly of: AssetPlace;
  readonly content: Pick<AssetContent, 'instances' | 'isWhole'> & { readonly isLentLock: boolean };
  readonly meanings: Meaning[];
}

/** Collects the effects of the deletions of an order, each once. What several deletions take from the same asset is one loss: together they may empty it. */
export class EffectList {
  readonly #assets = new Map<string, MeantAsset>();
  readonly #others: DryRunEffect[] = [];

  /** Adds what a deletion means on an asset. */
  mean(of: AssetPlace, content: MeantAsset['content'], meaning: Meaning): void {
    const key = JSON.stringify([of.enterpriseGlobalId, of.assetId]);
    const asset = this.#assets.get(key) ?? { of, content, meanings: [] };
    asset.meanings.push(meaning);
    this.#assets.set(key, asset);
  }

  add(kind: DryRunEffect['kind'], what: EffectTerms): void {
    this.#others.push(effectOf(kind, what));
  }

  addProducts(of: AssetPlace, products: LostProducts): void {
    for (const [productUri, readable] of products)
      this.add('product-removed', { ...of, productUri, readable });
  }

  get effects(): readonly KeptEffect[] {
    const effects = new Map<string, KeptEffect>();
    for (const effect of [...[...this.#assets.values()].flatMap(effectsOn), ...this.#others]) {
      const { kind, enterpriseGlobalId, assetId, assetNum, productUri } = effect;
      const key = JSON.stringify([kind, enterpriseGlobalId, assetId, assetNum, productUri]);
      if (effect.readable || !effects.has(key)) effects.set(key, effect);
    }
    return [...effects.values()];
  }
}

/** A content that did not come whole has no open products: there may be more of them than it shows. */
function effectsOn({ of, content: { instances, isWhole, isLentLock }, meanings }: MeantAsset): KeptEffect[] {
  const { asset, products, gone } = lossOf(instances, meanings, isLentLock);
  const lost = [...products].filter(([, isCertain]) => isWhole || isCertain);
  return [
    ...(asset === false ? [] : [effectOf('asset-removed', { ...of, readable: isWhole && asset === true })]),
    ...lost.map(([productUri, readable]) => ({
      ...effectOf('product-removed', { ...of, productUri, readable }),
      ...(readable && isWhole && { instances: keptOf(gone, productUri) }),
    })),
    ...(isWhole ? [] : meanings.map(({ kind }) => effectOf(kind, { ...of, readable: false }))),
  ];
}

function keptOf(gone: readonly Instance[], productUri: string | null): KeptInstance[] {
  return gone.flatMap(({ licenseOrderId, product }) => {
    if (product?.productUri !== productUri) return [];
    const { productId, limitConcurrent: nodes, endsAt } = product;
    return [{ productId, licenseOrderId, nodes, endsAt }];
  });
}
