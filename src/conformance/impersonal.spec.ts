import { expect, it } from '@jest/globals';
import { impersonal } from './impersonal.ts';

it.each<[words: string, sent: object, shown: string]>([
  ['parameter must not be empty', { ids: { enterpriseGlobalId: 'e-1' } }, 'parameter must not be empty'],
  ['no enterprise e-1!', { ids: { enterpriseGlobalId: 'e-1' } }, 'no enterprise <enterpriseGlobalId>!'],
  ['e-12 is not e-1', { ids: { enterpriseGlobalId: 'e-1' } }, 'e-12 is not <enterpriseGlobalId>'],
  ['e-12 is not e-1', { ids: { one: 'e-1', other: 'e-12' } }, '<other> is not <one>'],
  ['企业(联合.1)不存在', { query: { channelCode: '联合.1' } }, '企业(<channelCode>)不存在'],
  ['page 1 is too large', { query: { pageNum: '1', keyword: undefined } }, 'page 1 is too large'],
  ['user lee: no right', { username: 'lee' }, 'user <username>: no right'],
  [
    'rows a, b',
    { body: { userList: [{ userName: 'a' }, { userName: 'b' }] } },
    'rows <userName>, <userName>',
  ],
  ['ask lee@acme.example, 13800000002', {}, 'ask <…> <…>'],
  ['', { username: ' ' }, ''],
])('%j shows no value that was sent, and nothing personal', (words, sent, shown) => {
  expect(impersonal(words, sent)).toBe(shown);
});
