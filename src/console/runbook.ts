import { markdownHtml } from '../shared/markdown.ts';
import { lazily } from '../shared/lazily.ts';
import { shippedFile } from '../shared/shipped-file.ts';

const OPERATING = new URL('../../docs/operating.md', import.meta.url);

/** The sections of docs/operating.md to which the console leads: the dashboard and the alerts. Throws where the file is missing. */
export function runbook(): () => string {
  const operating = shippedFile(OPERATING).toString();
  return lazily(() => pageOf(operating));
}

function pageOf(operating: string): string {
  const sections = operating
    .split(/^#+ /m)
    .filter((each) => each.startsWith('Dashboard\n') || each.includes('\n- **Means:**'));
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Licensing gateway: runbook</title><link rel="icon" type="image/svg+xml" href="/console/icon.svg">
<link rel="stylesheet" href="/console/base.css"></head>
<body><main><h1>Runbook</h1>${sections.map(sectionHtml).join('\n')}</main></body></html>
`;
}

/** The `runbook_url` of an alert leads to the anchor of the heading. Each item of the section's list is a paragraph. */
function sectionHtml(markdown: string): string {
  const [title = '', ...paragraphs] = markdown.split(/\n+- |\n{2,}/);
  return `<section class="panel"><h2 id="${title.toLowerCase()}">${title}</h2>${markdownHtml(paragraphs.join('\n\n'))}</section>`;
}
