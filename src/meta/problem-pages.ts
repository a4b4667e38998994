import { createHash } from 'node:crypto';
import type { ProblemDescriptionDto } from './problems.dto.ts';

const STYLE = `:root{color-scheme:light dark}
body{font:16px/1.55 system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 1.25rem}
h1{font-size:1.7rem;line-height:1.25;margin:.2rem 0 1rem}h2{font-size:1.05rem;margin:1.6rem 0 .3rem}
code{font:.92em ui-monospace,monospace;background:#8882;padding:.1em .35em;border-radius:.3em}
a{color:#1d4ed8}.status{font-weight:600}table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:.45rem .8rem .45rem 0;border-bottom:1px solid #8883;vertical-align:top}
td:first-child{white-space:nowrap}
@media(max-width:40rem){body{margin-top:1.5rem}td:first-child{white-space:normal}code{overflow-wrap:anywhere}td,th{padding-right:.5rem}}
@media(prefers-color-scheme:dark){a{color:#7aa7ff}}`;

/** Allows only the style above, by its hash. */
export const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

const OUTCOMES = {
  not_processed: 'Nothing happened on the platform.',
  processed: 'The request was carried out on the platform.',
  unknown: 'It is not known whether the platform carried out the request.',
} as const;

export function catalogueHtml(items: readonly ProblemDescriptionDto[]): string {
  const rows = items.map(
    ({ type, code, statuses, title }) =>
      `<tr><td><a href="${type}"><code>${code}</code></a></td><td>${statuses.join(', ')}</td><td>${text(title)}</td></tr>`,
  );
  return page(
    'Problems',
    `<h1>Problems</h1><p>Every error of this gateway is <code>application/problem+json</code> (RFC 9457) with one of these codes.</p>
<table><thead><tr><th>code</th><th>status</th><th>meaning</th></tr></thead><tbody>${rows.join('\n')}</tbody></table>`,
  );
}

export function problemHtml(problem: ProblemDescriptionDto): string {
  const { code, statuses, title, outcome, outcomeVaries, retryable, meaning, remedy } = problem;
  const other = outcome === 'unknown' ? 'It may be processed' : 'After a write it may be unknown';
  const varies = outcomeVaries ? ` ${other}: the problem says so in <code>outcome</code>.` : '';
  return page(
    title,
    `<p class="status">HTTP ${statuses.join(' or ')} · <code>${code}</code></p><h1>${text(title)}</h1>
<p>${text(meaning)}</p>
<h2>What to do</h2><p>${text(remedy)}</p>
<h2>Outcome</h2><p><code>${outcome}</code>: ${OUTCOMES[outcome]}${varies}</p>
<h2>May the same request be sent again?</h2><p>${retryable ? 'Yes, as it is.' : 'No, not as it is.'}</p>
<p><a href="/problems">All problems</a></p>`,
  );
}

/** A page with its own style and nothing to load. */
export function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)}</title><link rel="icon" href="data:,"><style>${STYLE}</style></head>
<body><main>${body}</main></body></html>
`;
}

/** Escapes a text for HTML, and shows its \`words\` as code. */
function text(value: string): string {
  const escaped = value.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
  return escaped.replace(/`([^`]+)`/g, '<code>$1</code>');
}
