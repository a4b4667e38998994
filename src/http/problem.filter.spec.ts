import { type ArgumentsHost, NotFoundException } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { Log } from '../observability/log.ts';
import { newTrace } from '../observability/tracing.ts';
import { RequestStages } from '../request/request-stages.ts';
import { operations } from '../upstream/operations.ts';
import { UpstreamFailure } from '../upstream/upstream-failure.ts';
import { AllowedMethods } from './allowed-methods.ts';
import { ProblemFilter } from './problem.filter.ts';

/** Returns the response of the filter to an error. */
function sentFor(error: unknown, allowed: AllowedMethods): Record<string, unknown> {
  const sent: Record<string, unknown> = {};
  const note = (name: string) => (value: unknown) => {
    sent[name] = value;
    return reply;
  };
  const reply = { status: note('status'), headers: note('headers'), type: note('type'), send: note('body') };
  const stages = new RequestStages({
    requestId: 'req-1',
    startedAt: 0,
    trace: newTrace(),
    atEnd: [],
  });
  const http = {
    getRequest: () => ({ stages, url: '/v1/nothing', originalUrl: '/v1/nothing' }),
    getResponse: () => reply,
  };
  const host = { switchToHttp: () => http } as unknown as ArgumentsHost;
  new ProblemFilter(allowed, undefined as unknown as Log).catch(error, host);
  return sent;
}

it('a failure of the platform outside of a handler, as in a guard, is its problem too and not a 500', () => {
  const details = { status: 299, code: '60024' };
  const failure = new UpstreamFailure(operations.listMembers, 'refused', true, details);
  const sent = sentFor(failure, new AllowedMethods());
  expect(sent).toMatchObject({ status: 404, type: 'application/problem+json' });
  expect(JSON.stringify(sent['body'])).toMatch(/"code":"asset-not-found".*"outcome":"not_processed"/);
});

it('K54 the problem of an unknown path names the documentation only where it is served', () => {
  const allowed = new AllowedMethods();
  const detail = () => (sentFor(new NotFoundException(), allowed)['body'] as { detail: string }).detail;
  expect(detail()).toBe('No operation has this path.');
  allowed.add('GET', '/openapi.json');
  expect(detail()).toContain('`/docs` shows all of them');
});
