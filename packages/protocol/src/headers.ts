/** HTTP header names that both sides of an API agree on, lower case. */
export const headers = {
  /** Marks a call from this machine; counts only together with a loopback source. */
  meshInternal: 'x-mesh-internal',
  /** Run and fence on every call of the agent process to the agent API (ledger invariant R3). */
  runId: 'x-run-id',
  runFence: 'x-run-fence',
  idempotencyKey: 'idempotency-key',
  traceId: 'x-trace-id',
  requestedWith: 'x-requested-with',
  /** Id of the home that a call means; the mesh of another refuses it. */
  home: 'x-flotilla-home',
  /** On what cannot be undone, from a page: that the owner sits there. */
  ownerProof: 'x-flotilla-proof',
  /** The client itself confirms when it has shown the outcome; until then it counts as undelivered. */
  saysWhenRead: 'x-flotilla-says-when-read',
  /** On a model's answer: which model gave it, and how many attempts it took. */
  answeringModel: 'x-flotilla-model',
  attempts: 'x-flotilla-attempts',
  /** On a model call: a client that sends `1` asks again if a bound of the mesh cut the answer off. */
  asksAgain: 'x-flotilla-asks-again',
  /** On a model call of an agent's own loop: `subagent` or `aside` where it is no part of the run's conversation. */
  callPurpose: 'x-flotilla-call-purpose',
  /** On a streamed answer from outside: status and headers of the far end, as JSON in base64url. */
  farEnd: 'x-flotilla-far-end',
  webhookSignature: 'x-webhook-signature',
  /** Standard Webhooks: the signature covers the id and the moment too. */
  webhookId: 'webhook-id',
  webhookTimestamp: 'webhook-timestamp',
  webhookStandardSignature: 'webhook-signature',
  /** As GitHub names the signature of a body, and the delivery. */
  hubSignature: 'x-hub-signature-256',
  hubDelivery: 'x-github-delivery',
} as const

/** What the dashboard calls itself in `requestedWith`: a page cannot name itself in `User-Agent`. */
export const dashboardSurface = 'flotilla-dashboard'

export const sessionCookieName = 'ol_session'
