import { UnreadableTree } from './contract-notes.ts';
import {
  assetProductsShape,
  type MerchandiseField,
  merchandiseShape,
  type ProductField,
  productShape,
} from './member.ts';
import { Reader } from './reader.ts';

/** The limit of nested packages. Packages of the platform have two or three levels. */
export const MAX_PACKAGE_LEVELS = 16;

/** What products and packages both have. */
export type InstanceReader = Reader<Extract<ProductField, MerchandiseField>>;

export interface InstanceVisitor<C> {
  product(wire: Reader<ProductField>, outer: C): void;
  /** Returns what the products and packages inside of it get as `outer`. */
  merchandise(wire: Reader<MerchandiseField>, outer: C): C;
}

/** Visits every product and package on an asset (member #7), from the outside in. It reads no other field than the visitor does. */
export function readInstances<C>(data: unknown, outermost: C, visitor: InstanceVisitor<C>): void {
  const products =
    (outer: C) =>
    (wire: Reader<ProductField>): void =>
      visitor.product(wire, outer);
  const merchandises =
    (outer: C, level: number) =>
    (wire: Reader<MerchandiseField>): void => {
      if (level > MAX_PACKAGE_LEVELS)
        throw new UnreadableTree(wire.place, `within ${MAX_PACKAGE_LEVELS} levels`);
      const inner = visitor.merchandise(wire, outer);
      wire.list('productInstanceList', productShape, products(inner));
      wire.list('children', merchandiseShape, merchandises(inner, level + 1));
    };
  const wire = new Reader(assetProductsShape, data);
  wire.list('productInstanceList', productShape, products(outermost));
  wire.list('children', merchandiseShape, merchandises(outermost, 1));
}
