/** The owner's proof, which a page is asked for before what cannot be undone. */
export const proofLimits = {
  codeDigits: 8,
  /** How long a code waits to be typed. */
  codeMs: 5 * 60_000,
  /** Codes that wait at once, one of a person. */
  openMax: 50,
  triesMax: 5,
  /** How long a page may go on with it. */
  proofMs: 10 * 60_000,
  /** Pages that hold one at once. */
  givenMax: 50,
} as const

/**
 * What a page must bring it for, whatever it sends: approvals, deletion, people, a copy of the whole home, the seed of the wallet, where credentials go, who may wake an agent
 * from outside, and what stands in the journal. Routes that have harmless uses as well are not here: their use cases ask for
 * it (`requireProof`), before permissions, MCP servers and more money.
 */
export const provedRoutes: ReadonlySet<string> = new Set([
  'POST /api/pending/{id}/confirm',
  'DELETE /api/agents/{id}',
  'DELETE /api/agents/{id}/memory/{fact}',
  'DELETE /api/projects/{name}',
  'POST /api/journal/accept',
  'POST /api/backups',
  'POST /api/wallet/init',
  'POST /api/wallet/import',
  'POST /api/wallet/payments/{id}/replace',
  'POST /api/wallet/resume',
  'DELETE /api/webhooks/{id}',
  'POST /api/webhooks/{id}/rotate',
  'DELETE /api/setup/provider/{name}',
  'POST /api/people',
  'PATCH /api/people/{name}',
  'DELETE /api/people/{name}',
  'POST /api/people/{name}/token',
  'POST /api/channels/{name}',
  'DELETE /api/channels/{name}',
  'POST /api/channels/{name}/pair',
  'PUT /api/credentials/{name}',
  'PUT /api/credentials/{name}/binding',
  'DELETE /api/credentials/{name}',
  'DELETE /api/credentials/{name}/binding',
])
