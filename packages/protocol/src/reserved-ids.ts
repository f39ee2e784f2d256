/** The operator's reserved id; exactly one agent bears it. */
export const operatorAgentId = 'operator'

/** What people read as the name of whoever owns the fleet and has no other: no agent is called so, and no person who is none. */
export const ownerName = 'owner'

/** Ids that no new worker may take: another would do what people read as done by one of these. */
export const reservedAgentIds: readonly string[] = [
  'mesh',
  operatorAgentId,
  'canary-probe',
  ownerName,
  'system',
  'internal',
]
