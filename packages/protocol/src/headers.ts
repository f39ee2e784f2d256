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
  /** Id of the home that a call is meant for; the mesh of another home rejects the call. */
  home: 'x-flotilla-home',
  /** On irreversible calls from a page: proves that the owner is the person at the page. */
  ownerProof: 'x-flotilla-proof',
  /** Set if the client will confirm that it has shown a run's outcome; until then the outcome is undelivered. */
  confirmsRead: 'x-flotilla-says-when-read',
  /** On a model's answer: the model that answered, and the number of attempts. */
  answeringModel: 'x-flotilla-model',
  attempts: 'x-flotilla-attempts',
  /** On a model call: with `1`, the client repeats the call if a limit of the mesh cut the answer off. */
  asksAgain: 'x-flotilla-asks-again',
  /** On a model call of an agent's own loop: `subagent` or `aside` if the call is not in the run's conversation. */
  callPurpose: 'x-flotilla-call-purpose',
  /** On a streamed response from outside: status and headers of the remote server, as JSON in base64url. */
  farEnd: 'x-flotilla-far-end',
  /**
   * On the answer to a program's request that a person approved: the approval, if an equal request had asked for it
   * before. The mesh sent one request and gives its answer to each of them.
   */
  joinedApproval: 'x-flotilla-joined-approval',
  webhookSignature: 'x-webhook-signature',
  /** Standard Webhooks: the signature covers the id and the timestamp too. */
  webhookId: 'webhook-id',
  webhookTimestamp: 'webhook-timestamp',
  webhookStandardSignature: 'webhook-signature',
  /** GitHub's names for the signature of a body and for the delivery. */
  hubSignature: 'x-hub-signature-256',
  hubDelivery: 'x-github-delivery',
} as const

/** The dashboard's value for `requestedWith`, because a page cannot set `User-Agent`. */
export const dashboardSurface = 'flotilla-dashboard'

export const sessionCookieName = 'ol_session'
