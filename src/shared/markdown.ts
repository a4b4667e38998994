import { Marked } from 'marked';

const marked = new Marked({
  // HTML in the markdown is text.
  tokenizer: { html: () => undefined, tag: () => undefined },
  renderer: {
    link({ href, tokens }) {
      return /^[#/]/.test(href) ? false : this.parser.parseInline(tokens);
    },
  },
});

/** Markdown as HTML. Links to a section of the page and to a path of the gateway stay; of other links the words stay. */
export function markdownHtml(markdown: string): string {
  return marked.parse(markdown, { async: false });
}
