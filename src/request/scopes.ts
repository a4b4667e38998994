/** The scopes that operations require. The callers file grants them one by one. */
export const scopes = [
  'orders:read',
  'orders:write',
  'orders:revoke',
  'orders:settle',
  'customers:write',
  'locks:write',
  'members:read',
  'members:write',
  'sessions:write',
  'gaps:read',
  'events:read',
  'webhooks:write',
  'estate:read',
  'operate',
] as const;

export type Scope = (typeof scopes)[number];

export function isScope(word: string): word is Scope {
  return (scopes as readonly string[]).includes(word);
}
