import { createHash } from 'node:crypto';
import type { ProblemBody } from '../problem/problem.exception.ts';
import type { PlatformCodeDto, ProblemDescriptionDto, ProblemListDto } from './problems.dto.ts';

const STYLE = `:root{color-scheme:light dark}
body{font:16px/1.55 system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 1.25rem}
h1{font-size:1.7rem;line-height:1.25;margin:.2rem 0 1rem}h2{font-size:1.05rem;margin:1.6rem 0 .3rem}
code{font:.92em ui-monospace,monospace;background:#8882;padding:.1em .35em;border-radius:.3em}
pre{background:#8882;padding:.7rem .9rem;border-radius:.4rem;overflow-x:auto;line-height:1.45}pre code{background:none;padding:0}
pre.wrap{white-space:pre-wrap;overflow-wrap:anywhere}
a{color:#1d4ed8}.status{font-weight:600}table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:.45rem .8rem .45rem 0;border-bottom:1px solid #8883;vertical-align:top}
td:first-child,.number code{white-space:nowrap}
@media(max-width:40rem){body{margin-top:1.5rem}td:first-child{white-space:normal}code{overflow-wrap:anywhere}td,th{padding-right:.5rem}}
@media(prefers-color-scheme:dark){a{color:#7aa7ff}}`;

/** Allows only the style above, by its hash. */
export const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

const OUTCOMES = {
  not_processed: 'Nothing happened on the platform.',
  processed: 'The request was carried out on the platform.',
  unknown: 'It is not known whether the platform carried out the request.',
} as const;

/** The content of a page in addition to the problem itself. */
interface Around {
  readonly example: ProblemBody;
  /** The codes of the platform that lead to the problem. */
  readonly codes: readonly PlatformCodeDto[];
  /**
   * The operations that may have the problem, if it belongs to none in particular, as words after "operations". Undefined if there are
   * none.
   */
  readonly commonTo: string | undefined;
}

/** Returns the link of a word in a text. Undefined if it has none. */
type Links = (word: string) => string | undefined;

export function catalogueHtml({ items, codes }: ProblemListDto, links: Links): string {
  const rows = items.map(
    ({ code, statuses, title }) =>
      `<tr><td>${text(`\`${code}\``, links)}</td><td>${statuses.join(', ')}</td><td>${text(title)}</td></tr>`,
  );
  return page(
    'Problems',
    `<h1>Problems</h1><p>Every error of this gateway is <code>application/problem+json</code> (RFC 9457) with one of these codes.
The <a href="#platform">codes of the platform</a> stand below.</p>
${table(['code', 'status', 'meaning'], rows)}
<h2 id="platform">Codes of the platform</h2><p>What the platform answers to the gateway, and what the gateway makes of it. A problem has the code in
<code>upstream</code>. ${text('Any other code is `upstream-unmapped-error`, unless the operator of the gateway has taught it what the code means.', links)}</p>
${codesHtml(codes, links)}`,
  );
}

export function problemHtml(problem: ProblemDescriptionDto, around: Around, links: Links): string {
  const { code, statuses, title, outcome, outcomeVaries, retryable, meaning, remedy } = problem;
  const other = outcome === 'unknown' ? 'It may be processed' : 'After a write it may be unknown';
  const varies = outcomeVaries ? ` ${other}: the problem says so in <code>outcome</code>.` : '';
  const codes =
    around.codes.length === 0 ? '' : `<h2>Codes of the platform</h2>${codesHtml(around.codes, links)}`;
  return page(
    title,
    `<p class="status">HTTP ${statuses.join(' or ')} · <code>${code}</code></p><h1>${text(title)}</h1>
<p>${text(meaning, links)}</p>
<h2>What to do</h2><p>${text(remedy, links)}</p>
<h2>Outcome</h2><p><code>${outcome}</code>: ${OUTCOMES[outcome]}${varies}</p>
<h2>May the same request be sent again?</h2><p>${retryable ? 'Yes, as it is.' : 'No, not as it is.'}</p>
<h2>Operations that answer it</h2><p>${text(answeredBy(problem, around.commonTo), links)}</p>
<h2>Example</h2><pre class="wrap"><code>${escaped(JSON.stringify(around.example, null, 2), /[&<]/g)}</code></pre>
${codes}
<p><a href="/problems">All problems</a></p>`,
  );
}

function answeredBy({ operations }: ProblemDescriptionDto, common: string | undefined): string {
  if (operations.length > 0) return named(operations);
  if (common === undefined) return 'None: the request matches no operation.';
  return common === 'all' ? 'All operations.' : `All operations ${common}.`;
}

function codesHtml(codes: readonly PlatformCodeDto[], links: Links): string {
  const rows = codes.map(
    ({ code, meaning, operations, handling }) =>
      `<tr id="${code}"><td class="number"><code>${code}</code></td><td>${text(meaning)}${operations.length > 0 ? `<br>${text(named(operations), links)}` : ''}</td><td>${text(handling, links)}</td></tr>`,
  );
  return table(['code', 'meaning', 'what the gateway makes of it'], rows);
}

function table(heads: readonly string[], rows: readonly string[]): string {
  const head = heads.map((each) => `<th>${each}</th>`).join('');
  return `<table><thead><tr>${head}</tr></thead><tbody>${rows.join('\n')}</tbody></table>`;
}

function named(operations: readonly string[]): string {
  return operations.map((id) => `\`${id}\``).join(', ');
}

/** Makes a page with its own style and without further files. */
export function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)}</title><link rel="icon" href="data:,"><style>${STYLE}</style></head>
<body><main>${body}</main></body></html>
`;
}

/** Escapes a text for HTML, and shows its \`words\` as code, with their links. */
function text(value: string, links: Links = () => undefined): string {
  return escaped(value).replace(/`([^`]+)`/g, (_, word: string) => {
    const href = links(word);
    return href === undefined ? `<code>${word}</code>` : `<a href="${href}"><code>${word}</code></a>`;
  });
}

function escaped(value: string, characters = /[&<>"]/g): string {
  return value.replace(characters, (character) => `&#${character.charCodeAt(0)};`);
}
