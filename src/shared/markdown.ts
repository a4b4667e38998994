import type { MarkedExtension } from 'marked';
import { lazily } from './shipped-file.ts';

const PLAIN: MarkedExtension = {
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
};

/** The package is loaded for the first page. It makes its expressions when it is loaded, and the start should be short. */
const marked = lazily(async () => new (await import('marked')).Marked(PLAIN));

/**
 * Renders markdown as HTML. Links to a section of the page and to a path of the gateway are kept. Of other links only the words are kept.
 */
export async function markdownHtml(markdown: string): Promise<string> {
  const html = (await marked()).parse(markdown, { async: false });
  // A block that scrolls must be reachable by keyboard.
  return html.replaceAll('<pre>', '<pre tabindex="0">');
}

/** Returns the anchor of a heading as GitHub makes it, so that one link works on both. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}
