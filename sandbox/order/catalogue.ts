/** The products that may be bought. */
import type { World } from '../call.ts';
import { invalid } from '../errors.ts';
import { nearestWord } from '../nearest.ts';
import type { ProductTerms } from '../state/records.ts';
import type { MerchandiseTerms } from './terms.ts';

/** The products of the seed. Each may also be named by its `gmsPid`. */
const URIS = ['draft.pro', 'draft.view', 'cloud.model', 'cloud.render', 'cloud.share', 'survey.field'];
const CATALOGUE: ReadonlySet<string> = new Set(
  URIS.flatMap((uri) => [uri, `gms-${uri.replaceAll('.', '-')}`]),
);

interface Bought {
  readonly path: string;
  readonly products: readonly { readonly terms: ProductTerms }[];
  readonly merchandises: readonly MerchandiseTerms[];
}

/** @throws Refusal 13004 for a product that is neither in the catalogue nor in the state. */
export function assertSold({ state, settings }: World, { path, products, merchandises }: Bought): void {
  if (settings.profile.products === 'any') return;
  const assertKnown = (uri: string, at: string): void => {
    if (CATALOGUE.has(uri)) return;
    const own = state.products.all().map(({ productUri }) => productUri);
    if (own.includes(uri)) return;
    const nearest = nearestWord(uri.slice(0, 64), [...URIS, ...new Set(own)]);
    throw invalid(`${at}.productUri: there is no product ${uri.slice(0, 64)}; nearest: ${nearest}`);
  };
  const assertPackage = (merchandise: MerchandiseTerms, at: string): void => {
    for (const [place, { productUri }] of merchandise.products.entries())
      assertKnown(productUri, `${at}.licenseOrderProductList[${place}]`);
    for (const [place, child] of merchandise.children.entries())
      assertPackage(child, `${at}.children[${place}]`);
  };
  for (const [place, { terms }] of products.entries())
    assertKnown(terms.productUri, `${path}.products[${place}]`);
  for (const [place, merchandise] of merchandises.entries())
    assertPackage(merchandise, `${path}.merchandises[${place}]`);
}
