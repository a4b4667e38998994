/** The characters that nobody sees, as the inside of a character class (flag `u`): two ids that differ in one of them look alike. */
export const INVISIBLE = String.raw`\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}`;
