import type { ArgumentsHost } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { Log } from '../observability/log.ts';
import { newTrace } from '../observability/tracing.ts';
import { RequestStages } from '../operation/request-stages.ts';
import { operations } from '../upstream/operations.ts';
import { UpstreamFailure } from '../upstream/upstream-failure.ts';
import { AllowedMethods } from './allowed-methods.ts';
import { ProblemFilter } from './problem.filter.ts';

it('a failure of the platform outside of a handler, as in a guard, is its problem too and not a 500', () => {
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
  const http = { getRequest: () => ({ stages }), getResponse: () => reply };
  const host = { switchToHttp: () => http } as unknown as ArgumentsHost;
  const details = { status: 299, code: '60024' };
  const filter = new ProblemFilter(undefined as unknown as AllowedMethods, undefined as unknown as Log);
  filter.catch(new UpstreamFailure(operations.listMembers, 'refused', true, details), host);
  expect(sent).toMatchObject({ status: 404, type: 'application/problem+json' });
  expect(JSON.stringify(sent['body'])).toMatch(/"code":"asset-not-found".*"outcome":"not_processed"/);
});
