import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { breakingChanges } from '../../scripts/api-changes.ts';

const text = readFileSync('config/openapi.json', 'utf8');

/** The document of this commit, changed. */
function changed(change: (document: any) => void): any {
  const document = JSON.parse(text) as unknown;
  change(document);
  return document;
}
const document = changed(() => undefined);

/** A change that breaks callers, and the same the other way round, which does not. */
const CHANGES: readonly [string, (document: any) => void, RegExp][] = [
  [
    'an operation goes',
    ({ paths }) => delete paths['/v1/license-orders'].post,
    /^POST \/v1\/license-orders: is gone$/,
  ],
  [
    'a parameter goes',
    ({ paths }) => paths['/v1/license-orders'].post.parameters.shift(),
    /the parameter header X-Acting-User is gone/,
  ],
  [
    'a field of a response goes',
    ({ components }) => {
      delete components.schemas.Asset.properties.assetNum;
      components.schemas.Asset.required = components.schemas.Asset.required.filter(
        (name: string) => name !== 'assetNum',
      );
    },
    /the field assetNum is gone/,
  ],
  [
    'a field of a request becomes required',
    ({ components }) => components.schemas.UpdateMember.required.push('departmentId'),
    /is required now/,
  ],
];

describe('a document', () => {
  it('breaks nothing where it is the same', () => {
    expect(breakingChanges(document, document)).toEqual([]);
  });

  it.each(CHANGES)('breaks callers where %s, and not where it comes', (_, change, says) => {
    expect(breakingChanges(document, changed(change))).toEqual(
      expect.arrayContaining([expect.stringMatching(says)]),
    );
    expect(breakingChanges(changed(change), document).filter((line) => says.test(line))).toEqual([]);
  });
});
