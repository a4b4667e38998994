import { page, text } from './problem-pages.ts';

/** Links of CHANGELOG.md that lead to something which the gateway serves. */
const SERVED: Readonly<Record<string, string>> = { 'config/openapi.json': '/openapi.json' };

/** CHANGELOG.md as a page. It has headings, paragraphs, lists of one level, code and links. */
export function changelogHtml(markdown: string): string {
  const blocks = markdown
    .trim()
    .split(/\n{2,}/)
    .map((block) => {
      const heading = /^(#{1,3}) (.*)$/.exec(block);
      if (heading?.[1] && heading[2])
        return `<h${heading[1].length}>${inline(heading[2])}</h${heading[1].length}>`;
      if (!block.startsWith('- ')) return `<p>${inline(block)}</p>`;
      const items = block.slice(2).split(/\n- /);
      return `<ul>${items.map((item) => `<li>${inline(item)}</li>`).join('\n')}</ul>`;
    });
  return page('Changes', `${blocks.join('\n')}\n<p><a href="/docs">The API</a></p>`);
}

function inline(markdown: string): string {
  return text(markdown)
    .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
    .replace(/\[([^\]]+)\]\(([^)]+)\)/g, (_, label: string, target: string) => {
      const served = SERVED[target];
      return served === undefined ? label : `<a href="${served}">${label}</a>`;
    });
}
