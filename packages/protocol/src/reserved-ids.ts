/** The operator's reserved id; exactly one agent bears it. */
export const operatorAgentId = 'operator'

/** The displayed name of an owner without another one: no agent may use it, and no person who is not an owner. */
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
