/** Why the cost of a call is unknown, so that the whole reserved amount is booked as unconfirmed. */
const unknownCosts = {
  'read-on-time': 'its client left, and the provider was heard out for as long as that is done',
  'read-on-bytes': 'its client left, and the provider was heard out for as many bytes as that is done',
  'read-on-crowded': 'its client left, and too many calls were heard out already',
  'mesh-stopped': 'the mesh stopped before its answer was whole',
  'mesh-killed': 'the mesh ended without notice while it was open',
  'broken-off': 'the answer broke off',
  'no-usage': 'the answer told no usage',
} as const

export type UnknownCost = keyof typeof unknownCosts
