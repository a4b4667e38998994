import { describe, expect, it } from '@jest/globals';
import { problemDefinition, type ProblemSlug, problemSlugs, problemType } from './catalogue.ts';
import { ProblemException } from './problem.exception.ts';
import { catalogueHtml, problemHtml } from '../meta/problem-pages.ts';

/** What is promised to callers: every problem with its statuses and outcomes. The usual outcome stands first. */
const documented: Record<string, [statuses: number[], outcomes: string[]]> = {
  // The gateway's own problems.
  'validation-failed': [[400], ['not_processed']],
  unauthenticated: [[401], ['not_processed']],
  'user-required': [[401], ['not_processed']],
  'session-expired': [[401], ['not_processed']],
  'login-failed': [[401], ['not_processed']],
  forbidden: [[403], ['not_processed']],
  'not-found': [[404], ['not_processed']],
  'order-not-found': [[404], ['not_processed']],
  'customer-not-found': [[404], ['not_processed']],
  'job-not-found': [[404], ['not_processed']],
  'import-in-progress': [[409], ['not_processed']],
  'too-many-deletes': [[422], ['not_processed']],
  'precondition-failed': [[412], ['not_processed']],
  'method-not-allowed': [[405], ['not_processed']],
  'not-acceptable': [[406], ['not_processed']],
  'payload-too-large': [[413], ['not_processed']],
  'uri-too-long': [[414], ['not_processed']],
  'unsupported-media-type': [[415], ['not_processed']],
  'headers-too-large': [[431], ['not_processed']],
  'order-not-settleable': [[409], ['not_processed']],
  'request-in-progress': [[409], ['unknown']],
  'idempotency-key-reused': [[422], ['not_processed']],
  'too-many-requests': [[429], ['not_processed']],
  'internal-error': [[500], ['unknown']],
  'upstream-contract-violation': [[502], ['not_processed', 'unknown']],
  'upstream-unavailable': [[503], ['not_processed']],
  'dependency-unavailable': [[503], ['not_processed']],
  overloaded: [[503], ['not_processed']],
  'upstream-timeout': [[504], ['not_processed']],
  'outcome-unknown': [
    [502, 504],
    ['unknown', 'processed'],
  ],
  // Upstream codes.
  'upstream-rejected': [[422], ['not_processed']],
  'trial-member-limit': [[409], ['not_processed']],
  'member-not-found': [[404], ['not_processed']],
  'member-ambiguous': [[409], ['not_processed']],
  'asset-not-found': [[404], ['not_processed']],
  'asset-of-other-customer': [[409], ['not_processed']],
  'asset-assigned-twice': [[409], ['not_processed']],
  'account-not-bound': [[409], ['not_processed']],
  'member-permission-insufficient': [[403], ['not_processed']],
  'not-enough-nodes': [[409], ['not_processed']],
  'already-lent': [[409], ['not_processed']],
  'lent-lock-abnormal': [[409], ['not_processed']],
  'lent-to-other-member': [[409], ['not_processed']],
  'upstream-credential-rejected': [[502], ['not_processed', 'unknown']],
  'upstream-unmapped-error': [[502], ['not_processed', 'unknown']],
};

/** What is promised of repeating; elsewhere it is the gateway's to choose. */
const retryables: Partial<Record<ProblemSlug, boolean>> = {
  'upstream-rejected': false,
  'trial-member-limit': false,
  'member-not-found': false,
  'member-ambiguous': false,
  'asset-not-found': false,
  'asset-of-other-customer': false,
  'asset-assigned-twice': false,
  'account-not-bound': false,
  'member-permission-insufficient': false,
  'not-enough-nodes': false,
  'already-lent': false,
  'lent-lock-abnormal': false,
  'lent-to-other-member': false,
  'upstream-credential-rejected': false,
  'upstream-unmapped-error': false,
  'upstream-unavailable': true,
  'outcome-unknown': false,
};

describe('the catalogue', () => {
  it('has every documented problem, and no other', () => {
    expect([...problemSlugs].sort()).toEqual(Object.keys(documented).sort());
  });

  it.each(problemSlugs)('says of %s what the contract says', (slug) => {
    const { statuses, outcome, outcomeVaries, retryable } = problemDefinition(slug);
    const other = outcome === 'unknown' ? 'processed' : 'unknown';
    const outcomes = outcomeVaries ? [outcome, other] : [outcome];
    expect([statuses, outcomes]).toEqual(documented[slug]);
    expect(retryable).toBe(retryables[slug] ?? retryable);
  });

  it.each(problemSlugs)('explains %s to people', (slug) => {
    const { title, meaning, remedy } = problemDefinition(slug);
    for (const text of [title, meaning, remedy]) expect(text.trim().length).toBeGreaterThan(10);
    expect(title).not.toMatch(/\.$/);
    expect(meaning).toMatch(/\.$/);
    expect(remedy).toMatch(/\.$/);
  });

  it('gives no two problems the same title', () => {
    expect(new Set(problemSlugs.map((slug) => problemDefinition(slug).title)).size).toBe(problemSlugs.length);
  });

  it('never calls a problem retryable whose outcome is open, but for a write that is still running', () => {
    const risky = problemSlugs.filter((slug) => {
      const { outcome, outcomeVaries, retryable } = problemDefinition(slug);
      return retryable && (outcome !== 'not_processed' || outcomeVaries);
    });
    expect(risky).toEqual(['request-in-progress']);
  });
});

describe('a problem on its way to the caller', () => {
  it.each(problemSlugs)('%s carries type, title, status, code, outcome and retryable', (slug) => {
    const { statuses, title, outcome, retryable } = problemDefinition(slug);
    const problem = new ProblemException(slug);
    const [status] = statuses;
    expect(JSON.parse(JSON.stringify(problem.body))).toEqual({
      type: `/problems/${slug}`,
      title,
      status,
      code: slug,
      outcome,
      retryable,
    });
    expect(problem.getStatus()).toBe(status);
  });

  it('carries headers where they are known', () => {
    expect(new ProblemException('too-many-requests', { retryAfter: 0 }).headers).toEqual({
      'retry-after': '0',
    });
    expect(new ProblemException('method-not-allowed', { allow: ['GET', 'PUT'] }).headers).toEqual({
      allow: 'GET, PUT',
    });
    expect(new ProblemException('forbidden').headers).toEqual({});
  });
});

describe('the pages', () => {
  const description = (slug: ProblemSlug) => {
    const { statuses, outcomeVaries = false, ...rest } = problemDefinition(slug);
    return { ...rest, type: problemType(slug), code: slug, statuses: [...statuses], outcomeVaries };
  };

  it('list every problem with a link to its own page', () => {
    const html = catalogueHtml(problemSlugs.map(description));
    const links = [...html.matchAll(/href="\/problems\/([\w-]+)"/g)].map(([, slug]) => slug);
    expect(links).toEqual(problemSlugs);
  });

  it('say what is known of each problem', () => {
    const html = problemHtml(description('outcome-unknown'));
    expect(html).toContain('HTTP 502 or 504');
    expect(html).toContain('<code>retryable</code>');
    expect(html).toContain('<code>unknown</code>');
    expect(html).toContain('No, not as it is.');
    expect(problemHtml(description('overloaded'))).toContain('Yes, as it is.');
    expect(problemHtml(description('upstream-unmapped-error'))).toContain('it may be unknown');
  });

  it('show text as text, even where it looks like HTML', () => {
    const evil = '`<img src=x onerror="a&b">`</title><script>';
    const problem = { ...description('overloaded'), title: evil, meaning: evil, remedy: evil };
    for (const html of [problemHtml(problem), catalogueHtml([problem])]) {
      expect(html).not.toMatch(/<img|<script|onerror="|<\/title><script/);
      expect(html).toContain('&#60;img src=x onerror=&#34;a&#38;b&#34;&#62;');
    }
  });
});
