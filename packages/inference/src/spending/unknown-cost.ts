/** Why the cost of a call is unknown, so that the whole reserved amount is booked as unconfirmed. */
const unknownCosts = {
  'read-on-time': 'the client disconnected, and the rest of the answer was read for the maximum time',
  'read-on-bytes': 'the client disconnected, and the rest of the answer was read up to the maximum size',
  'read-on-crowded': 'the client disconnected, and too many such answers were already being read',
  'mesh-stopped': 'the mesh stopped before the answer was complete',
  'mesh-killed': 'the mesh was killed while the call was open',
  'broken-off': 'the answer ended early',
  'no-usage': 'the answer contained no token usage',
} as const

export type UnknownCost = keyof typeof unknownCosts
