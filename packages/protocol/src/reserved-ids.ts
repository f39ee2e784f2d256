/** The operator's reserved id; exactly one agent bears it. */
export const operatorAgentId = 'operator'

/** The displayed name of an owner without a name of their own; no agent and no other person may use it. */
export const ownerName = 'owner'

/** Ids that no new worker may use: people would mistake its work for that of the mesh or of a person. */
export const reservedAgentIds: readonly string[] = [
  'mesh',
  operatorAgentId,
  'canary-probe',
  ownerName,
  'system',
  'internal',
]
