/** What each client does: the order of README.md twice, a refusal that it tells apart, and a walk over all pages. */
export interface Steps {
  /** The licence order of the first request, and of the same request again. */
  readonly licenseOrderIds: readonly (string | null)[];
  /** Who has the asset number that cannot be assigned twice. */
  readonly takenBy: readonly string[];
  readonly assetIds: readonly string[];
}

export const ENTERPRISE = 'ent-harbour';
export const CUSTOMER = 'cus-harbour-default';
/** It has no asset number; the other's is taken. */
export const MEMBER = 'mem-harbour-dora';
export const TAKEN = '8000001002';
export const PAGE_SIZE = 5;
