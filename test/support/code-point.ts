import fc from 'fast-check';

/** Any character that UTF-8 can carry. As the library's own `binary`, without its list of all of them, which takes a second to make. */
export const codePoint = fc
  .nat(0x10_ff_ff)
  .filter((point) => point < 0xd8_00 || point > 0xdf_ff)
  .map((point) => String.fromCodePoint(point));
