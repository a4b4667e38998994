/** Operations that fail and stall together have connections of their own, so that a group that stalls takes none from the others. */
export const groupNames = ['orderReads', 'orders', 'orderWrites', 'memberReads', 'memberWrites'] as const;
export type GroupName = (typeof groupNames)[number];
