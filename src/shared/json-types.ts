export const JSON_TYPE = 'application/json';
/** The types of the body of a PATCH. The body is a merge patch too (RFC 7396). Generators of clients use the first type. */
export const PATCH_TYPES = [JSON_TYPE, 'application/merge-patch+json'] as const;
