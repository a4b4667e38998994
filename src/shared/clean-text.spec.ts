import { expect, it } from '@jest/globals';
import { cleanText } from './clean-text.ts';

it.each([
  [
    'a joiner between letters of Persian stays',
    'نام علی\u200cرضا نامعتبر است',
    'نام علی\u200cرضا نامعتبر است',
  ],
  ['a joiner within a word of Hindi stays', 'क्\u200dष', 'क्\u200dष'],
  ['a joiner in a Latin word is taken out', 'pass\u200cword \u200d', 'pass word'],
  ['formatting that turns the direction is taken out', 'علی\u202eرضا', 'علی رضا'],
])('%s', (_, text, clean) => {
  expect(cleanText(text)).toBe(clean);
});
