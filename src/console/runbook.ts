import { anchorOf, markdownHtml } from '../shared/markdown.ts';
import { lazily } from '../shared/lazily.ts';
import { shippedFile } from '../shared/shipped-file.ts';

const OPERATING = new URL('../../docs/operating.md', import.meta.url);

/**
 * The sections of docs/operating.md to which the console leads: the dashboard, the alerts, and the sections that these name. Throws where
 * the file is missing.
 */
export function runbook(): () => string {
  const operating = shippedFile(OPERATING).toString();
  return lazily(() => pageOf(operating));
}

function pageOf(operating: string): string {
  const sections = operating.split(/^#+ /m);
  const alerts = sections.filter((each) => each.startsWith('Dashboard\n') || each.includes('\n- **Means:**'));
  const named = sections.filter(
    (each) =>
      !alerts.includes(each) && alerts.some((alert) => alert.includes(`](#${anchorOf(titleOf(each))})`)),
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Licensing gateway: runbook</title><link rel="icon" type="image/svg+xml" href="/console/icon.svg">
<link rel="stylesheet" href="/console/base.css"></head>
<body><main><h1>Runbook</h1>${[...alerts.map(alertHtml), ...named.map(sectionHtml)].join('\n')}</main></body></html>
`;
}

/** Each item of the section's list is a paragraph. */
function alertHtml(markdown: string): string {
  return sectionHtml(markdown.replaceAll(/\n+- /g, '\n\n'));
}

/** The `runbook_url` of an alert, and the links of other sections, lead to the anchor of the heading. */
function sectionHtml(markdown: string): string {
  return `<section class="panel">${markdownHtml(`## ${markdown}`)}</section>`;
}

function titleOf(section: string): string {
  return section.slice(0, section.indexOf('\n'));
}
