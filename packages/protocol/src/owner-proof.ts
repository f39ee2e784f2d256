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

/** What a page must bring it for: approvals, deletion, people, and where credentials go. */
export const provedRoutes: ReadonlySet<string> = new Set([
  'POST /api/pending/{id}/confirm',
  'DELETE /api/agents/{id}',
  'DELETE /api/webhooks/{id}',
  'DELETE /api/setup/provider/{name}',
  'POST /api/people',
  'PATCH /api/people/{name}',
  'DELETE /api/people/{name}',
  'POST /api/people/{name}/token',
  'PUT /api/credentials/{name}',
  'PUT /api/credentials/{name}/binding',
  'DELETE /api/credentials/{name}',
])
