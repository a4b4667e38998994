import type { Success } from './operation-description.ts';

/** Names the later operations that take a parameter from the response. */
export function linksTo(
  operationIds: readonly string[],
  parameter: string,
  pointer: string,
): NonNullable<Success['links']> {
  return Object.fromEntries(
    operationIds.map((operationId) => [
      operationId,
      { operationId, parameters: { [parameter]: `$response.body#${pointer}` } },
    ]),
  );
}
