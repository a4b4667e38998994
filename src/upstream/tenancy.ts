import { type Grants, isGranted } from './call-context.ts';
import type { Operation } from './operations.ts';
import type { UpstreamRequest } from './upstream-path.ts';

/** A request names an enterprise or channel that its caller was not granted. */
export class ForeignTenant extends Error {
  override readonly name = 'ForeignTenant';
}

/**
 * The second check of what a caller may name, on the request as it will be sent: whatever a controller or mapper did, no
 * call leaves for an enterprise or channel that is not the caller's. The first is the caller guard.
 */
export function assertOwnTenants(operation: Operation, request: UpstreamRequest, grants: Grants): void {
  const parts = [request.ids, request.query, request.body, ...orderItems(request.body)];
  for (const part of parts) {
    assertGranted(operation, grants.enterprises, part, 'enterpriseGlobalId');
    assertGranted(operation, grants.channels, part, 'channelCode');
  }
}

function assertGranted(
  operation: Operation,
  granted: ReadonlySet<string>,
  part: object | undefined,
  name: string,
): void {
  const id = part && (part as Record<string, unknown>)[name];
  if (typeof id === 'string' && !isGranted(granted, id)) {
    throw new ForeignTenant(`${operation.name} names a ${name} that is not the caller's`);
  }
}

function orderItems(body: object | undefined): readonly object[] {
  const items = (body as { orderList?: readonly object[] } | undefined)?.orderList;
  return items ?? [];
}
