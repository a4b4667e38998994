import { Marked } from 'marked';
import { lazily } from './lazily.ts';

/** The parser is made for the first page, because compiling its expressions would delay the start. */
const marked = lazily(
  () =>
    new Marked({
      // HTML in the markdown is shown as text.
      tokenizer: { html: () => undefined, tag: () => undefined },
      renderer: {
        link({ href, tokens }) {
          return /^[#/]/.test(href) ? false : this.parser.parseInline(tokens);
        },
        heading({ depth, text, tokens }) {
          return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
        },
      },
    }),
);

/**
 * Renders markdown as HTML. Links to a section of the page and to a path of the gateway are kept. Of other links only the words are kept.
 */
export function markdownHtml(markdown: string): string {
  // A block that scrolls must be reachable by keyboard.
  return marked().parse(markdown, { async: false }).replaceAll('<pre>', '<pre tabindex="0">');
}

/** Returns the anchor of a heading as GitHub makes it, so that one link works on both. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}
