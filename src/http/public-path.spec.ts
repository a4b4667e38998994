import { expect, it } from '@jest/globals';
import { withoutPublicPath } from './public-path.ts';

it.each([
  ['that the proxy has left', '/licensing/v1/gaps?page=2', '/v1/gaps?page=2'],
  ['that the proxy has taken off', '/v1/gaps', '/v1/gaps'],
  ['alone', '/licensing', '/'],
  ['alone, with a query', '/licensing?a=b', '/?a=b'],
  ['that only begins like it', '/licensing2/v1/gaps', '/licensing2/v1/gaps'],
  ['twice', '/licensing/licensing/v1', '/licensing/v1'],
])('a target with the public path %s', (_, target, path) => {
  expect(withoutPublicPath(target, '/licensing')).toBe(path);
});
