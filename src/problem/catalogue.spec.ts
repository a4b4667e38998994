import { describe, expect, it } from '@jest/globals';
import { outcomes, problemDefinition, type ProblemSlug, problemSlugs, problemType } from './catalogue.ts';
import { ProblemException } from './problem.exception.ts';
import { catalogueHtml, problemHtml } from '../documentation/problem-pages.ts';

describe('the catalogue', () => {
  it('explains every problem to people', () => {
    for (const slug of problemSlugs) {
      const { title, meaning, remedy } = problemDefinition(slug);
      const sentence = expect.stringMatching(/^.{10,}\.$/s);
      expect({ slug, title, meaning, remedy }).toEqual({
        slug,
        title: expect.stringMatching(/^.{10,}[^.]$/),
        meaning: sentence,
        remedy: sentence,
      });
    }
  });

  it('has a status, a known outcome and a word on repetition for each', () => {
    for (const slug of problemSlugs) {
      const { statuses, outcome, retryable } = problemDefinition(slug);
      expect([slug, statuses.every((status) => status >= 400 && status < 600), statuses.length > 0]).toEqual([
        slug,
        true,
        true,
      ]);
      expect([slug, outcomes.words.includes(outcome), typeof retryable]).toEqual([slug, true, 'boolean']);
    }
  });

  it('gives no two problems the same title', () => {
    expect(new Set(problemSlugs.map((slug) => problemDefinition(slug).title)).size).toBe(problemSlugs.length);
  });

  it('has several statuses or outcomes only where callers were promised them', () => {
    const definitions = problemSlugs.map((slug) => ({ slug, ...problemDefinition(slug) }));
    expect(
      definitions
        .filter(({ outcomeVaries }) => outcomeVaries)
        .map(({ slug }) => slug)
        .sort(),
    ).toEqual([
      ...['outcome-unknown', 'upstream-contract-violation'],
      ...['upstream-credential-rejected', 'upstream-unmapped-error'],
    ]);
    const several = definitions.filter(({ statuses }) => statuses.length > 1);
    expect(several.map(({ slug, statuses }) => [slug, statuses])).toEqual([['outcome-unknown', [502, 504]]]);
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
  it('carries type, title, status, code, outcome and retryable', () => {
    for (const slug of problemSlugs) {
      const { statuses, title, outcome, retryable } = problemDefinition(slug);
      const problem = new ProblemException(slug);
      const [status] = statuses;
      const body = { type: `/problems/${slug}`, title, status, code: slug, outcome, retryable };
      expect(JSON.parse(JSON.stringify(problem.body))).toEqual(body);
      expect([slug, problem.getStatus()]).toEqual([slug, status]);
    }
  });

  it('carries headers where they are known', () => {
    expect(new ProblemException('too-many-requests', { retryAfter: 0 }).headers).toEqual({
      'retry-after': '1',
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
    const known = { ...rest, type: problemType(slug), code: slug, statuses: [...statuses], outcomeVaries };
    return { ...known, operations: ['placeOrder'] };
  };
  const htmlOf = (problem: ReturnType<typeof description>) => {
    const example = { ...new ProblemException(problem.code).body, title: problem.title };
    return problemHtml(problem, { codes: [], commonTo: undefined, example }, () => undefined);
  };

  it('say what is known of each problem', () => {
    const html = htmlOf(description('outcome-unknown'));
    expect(html).toContain('HTTP 502 or 504');
    expect(html).toContain('<code>retryable</code>');
    expect(html).toContain('<code>unknown</code>');
    expect(html).toContain('No, not as it is.');
    expect(htmlOf(description('overloaded'))).toContain('Yes, as it is.');
    expect(htmlOf(description('upstream-unmapped-error'))).toContain('it may be unknown');
  });

  it('show text as text, even where it looks like HTML', () => {
    const evil = '`<img src=x onerror="a&b">`</title><script>';
    const problem = { ...description('overloaded'), title: evil, meaning: evil, remedy: evil };
    const list = catalogueHtml({ items: [problem], codes: [] }, () => undefined);
    for (const html of [htmlOf(problem), list]) {
      expect(html).not.toMatch(/<img|<script|onerror="|<\/title><script/);
      expect(html).toContain('&#60;img src=x onerror=&#34;a&#38;b&#34;&#62;');
    }
  });
});
