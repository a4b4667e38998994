import { shippedFile } from '../shared/shipped-file.ts';

const OPERATING = new URL('../../docs/operating.md', import.meta.url);

/**
 * The sections of docs/operating.md to which the console leads, as a page: the dashboard, and one for each alert. They have
 * paragraphs, lists of one level, code and links. Throws where the file is missing.
 */
export function runbookHtml(): string {
  const sections = shippedFile(OPERATING)
    .toString()
    .split(/^#+ /m)
    .filter((each) => each.startsWith('Dashboard\n') || each.includes('\n- **Means:**'));
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Licensing gateway: runbook</title><link rel="icon" type="image/svg+xml" href="/console/icon.svg">
<link rel="stylesheet" href="/console/console.css"></head>
<body><main><h1>Runbook</h1>${sections.map(sectionHtml).join('\n')}</main></body></html>
`;
}

/** Its heading has the anchor to which the `runbook_url` of an alert leads. */
function sectionHtml(markdown: string): string {
  const [title = '', ...lines] = markdown.split('\n').filter((line) => line !== '');
  const paragraphs = lines.map((line) => `<p>${inline(line.replace(/^- /, ''))}</p>`);
  return `<section class="panel"><h2 id="${title.toLowerCase()}">${title}</h2>${paragraphs.join('')}</section>`;
}

function inline(markdown: string): string {
  const escaped = markdown.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
  const parts = escaped.split('`');
  return parts.map((part, index) => (index % 2 === 1 ? `<code>${part}</code>` : words(part))).join('');
}

/** Links lead to other sections; of a link to another file its words stay. */
function words(text: string): string {
  return text
    .replace(/\*\*(.+?)\*\*/g, '<strong>$1</strong>')
    .replace(/\b_(.+?)_\b/g, '<em>$1</em>')
    .replace(/\[([^\]]+)\]\((#[a-z]+)\)/g, '<a href="$2">$1</a>')
    .replace(/\[([^\]]+)\]\([^)]+\)/g, '$1');
}
