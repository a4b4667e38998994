/** Operations that fail and stall together share connections, so that a stalled group takes none from the others. */
export const groupNames = ['orderReads', 'orders', 'orderWrites', 'memberReads', 'memberWrites'] as const;
export type GroupName = (typeof groupNames)[number];
