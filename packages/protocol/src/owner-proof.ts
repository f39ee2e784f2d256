/** Limits of the owner's proof, which a page must present before irreversible actions. */
export const proofLimits = {
  codeDigits: 8,
  /** How long a code can be entered, in milliseconds. */
  codeMs: 5 * 60_000,
  /** Codes that can be open at the same time, one per person. */
  openMax: 50,
  triesMax: 5,
  /** How long a proof is valid, in milliseconds. */
  proofMs: 10 * 60_000,
  /** Pages that can have a proof at the same time. */
  givenMax: 50,
} as const

/**
 * Routes for which a page must send the proof, whatever the body: approvals, deletion, people, a copy of the whole
 * home, the seed of the wallet, where credentials are sent, who may wake an agent from outside, the programs in the
 * image of an agent, and the content of the audit log. Routes that also have harmless uses are not listed: their use cases require it (`requireProof`),
 * before permissions, MCP servers and more money.
 */
export const provedRoutes: ReadonlySet<string> = new Set([
  'POST /api/pending/{id}/confirm',
  'POST /api/pending/{id}/always',
  'POST /api/policy/rules',
  'DELETE /api/agents/{id}',
  'DELETE /api/agents/{id}/memory/{fact}',
  'PUT /api/agents/{id}/harness',
  'PUT /api/agents/{id}/image',
  'PUT /api/agents/{id}/packages',
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
