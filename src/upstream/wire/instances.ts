import type { WireAssetProducts, WireMerchandiseInstance, WireProductInstance } from './member.ts';
import { UnreadableTree } from './contract-notes.ts';
import { Reader } from './reader.ts';

/** The limit of nested packages. Packages of the platform have two or three levels. */
export const MAX_PACKAGE_LEVELS = 16;

export interface InstanceVisitor<C> {
  product(wire: Reader<WireProductInstance>, outer: C): void;
  /** Returns what the products and packages inside of it get as `outer`. */
  merchandise(wire: Reader<WireMerchandiseInstance>, outer: C): C;
}

/** Visits every product and package on an asset (member #7), from the outside in. It reads no other field than the visitor does. */
export function readInstances<C>(data: unknown, outermost: C, visitor: InstanceVisitor<C>): void {
  const products =
    (outer: C) =>
    (wire: Reader<WireProductInstance>): void =>
      visitor.product(wire, outer);
  const merchandises =
    (outer: C, level: number) =>
    (wire: Reader<WireMerchandiseInstance>): void => {
      if (level > MAX_PACKAGE_LEVELS)
        throw new UnreadableTree(wire.place, `within ${MAX_PACKAGE_LEVELS} levels`);
      const inner = visitor.merchandise(wire, outer);
      wire.list('productInstanceList', products(inner));
      wire.list('children', merchandises(inner, level + 1));
    };
  const wire = new Reader<WireAssetProducts>(data);
  wire.list('productInstanceList', products(outermost));
  wire.list('children', merchandises(outermost, 1));
}
