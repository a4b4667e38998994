import { expect } from '@jest/globals';
import type { TestAnswer, TestGateway } from './gateway.ts';
import { type OperationCase, operationCases } from './operations.ts';

/** The operations that the tests of faults use, and their expectations. */

export function caseOf(id: string): OperationCase {
  return operationCases.find((each) => each.id === id) as OperationCase;
}

export const read = caseOf('findCustomers');
/** Must not run twice. */
export const write = caseOf('disableLocks');
export const order = caseOf('placeOrder');

export interface Expected {
  readonly status: number;
  readonly code: string;
  readonly outcome: string;
  readonly retryable: boolean;
  readonly retryAfter: string | null;
}

export const UNAVAILABLE = expected(503, 'upstream-unavailable', 'not_processed', true, '1');
export const READ_LATE = expected(504, 'upstream-timeout', 'not_processed', true);
export const READ_VIOLATION = expected(502, 'upstream-contract-violation', 'not_processed');
export const REJECTED = expected(502, 'upstream-credential-rejected', 'not_processed');
/** A write whose response is lost or cannot be parsed. */
export const UNKNOWN = expected(502, 'outcome-unknown', 'unknown');
export const UNKNOWN_LATE = expected(504, 'outcome-unknown', 'unknown');
/** A write whose response can be parsed, but violates the interface. */
export const WRITE_VIOLATION = expected(502, 'upstream-contract-violation', 'unknown');

/** An order that was placed, with a response that does not show all of its results. */
export const INCOMPLETE = expected(502, 'outcome-unknown', 'processed');

export function expected(
  status: number,
  code: string,
  outcome: string,
  retryable = false,
  retryAfter: string | null = null,
): Expected {
  return { status, code, outcome, retryable, retryAfter };
}

export function expectProblem(answer: TestAnswer, { retryAfter, ...body }: Expected): void {
  expect({ ...answer.body, retryAfter: answer.headers.get('retry-after') }).toMatchObject({
    ...body,
    retryAfter,
  });
  expect(answer.status).toBe(body.status);
}

/** The value of one series of the gateway's metrics; 0 before the series exists. */
export async function metric(gateway: TestGateway, series: string): Promise<number> {
  const line = (await gateway.metrics()).split('\n').find((each) => each.startsWith(`${series} `));
  return Number(line?.slice(series.length) ?? 0);
}
