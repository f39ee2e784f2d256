/** One row of the specification's Limits table: a number with its unit in the name, and the clause it comes from. */
export interface Clamp {
  readonly default: number
  readonly min: number
  readonly max: number
}

/**
 * The Limits table of the specification, in its order. Ids after `//` are clause ids of tests/requirements.ts. No
 * other code may repeat these numbers.
 */
export const limits = {
  webhook: { bodyMaxBytes: 1024 * 1024, forwardedMaxChars: 3000 }, // limits:webhook-body limits:webhook-forwarded-chars
  taskIterations: { default: 20, min: 1, max: 100 }, // limits:task-iterations
  chatRoundsPerTurn: { default: 30, min: 1, max: 200 }, // limits:chat-rounds-per-turn
  chatRoundsPerSession: { default: 200, min: 1, max: 1000 }, // limits:chat-rounds-per-session
  sessionContinuesMax: 5, // limits:session-continues
  heartbeatIterationsMax: 12, // limits:heartbeat-iterations
  bootstrapMaxChars: 48_000, // limits:bootstrap-chars
  budgetDailyUsd: { default: 10, min: 0.01, max: 1000 }, // limits:budget-daily
  budgetMonthlyUsd: { default: 200, min: 0.1, max: 30_000 }, // limits:budget-monthly
  toolLoop: { warnAtRepeat: 2, blockAtRepeat: 4, terminateAtRepeat: 9, windowCalls: 15 }, // limits:tool-loop
  skillSourceMaxChars: 10_000, // limits:skill-source-chars
  subagents: {
    concurrentMax: 3,
    depthMax: 2,
    ttlSeconds: { default: 300, min: 1, max: 600 },
    iterationsDefault: 10,
  }, // limits:subagents
  worker: { memoryBytes: 384 * 1024 * 1024, cpu: 0.15, pids: 256, tmpBytes: 100 * 1024 * 1024 }, // limits:worker-container
  operator: { memoryBytes: 128 * 1024 * 1024, cpu: 0.05, pids: 256, tmpBytes: 100 * 1024 * 1024 }, // limits:operator-container
  cronTickMs: 5000, // limits:cron-tick
  fileWatcherPollMs: 5000, // limits:file-watcher-poll
  sessionCookie: { maxAgeSeconds: 24 * 3600, skewSeconds: 300 }, // limits:session-cookie
  diskProbeThresholdPercent: 85, // limits:disk-probe
  workspaceFileMaxChars: {
    'SOUL.md': 4000,
    'INSTRUCTIONS.md': 12_000,
    'USER.md': 4000,
    'MEMORY.md': 16_000,
    'INTERFACE.md': 4000,
    'AGENTS.md': 12_000,
    'SYSTEM.md': 6000,
  }, // limits:workspace-files
  redirectsMax: 5, // limits:outbound-redirects
} as const satisfies Record<string, unknown>

/** Clamps a setting to its range; a value that is not a number gives the default. */
export function clamp(range: Clamp, value: number | undefined): number {
  if (value === undefined || !Number.isFinite(value)) return range.default
  return Math.min(range.max, Math.max(range.min, value))
}

/** Limits that are not in the specification; both sides of an API must agree on them. */
export const wireLimits = {
  /** Largest JSON body on any API but the model gateway's. */
  bodyMaxBytes: 1024 * 1024,
  /** Largest prompt body on the model gateway's API. */
  modelBodyMaxBytes: 4 * 1024 * 1024,
  artifactMaxBytes: 2 * 1024 * 1024,
  uploadMaxBytes: 50 * 1024 * 1024,
  /** The maximum number of spans shown of one trace; the earliest ones are shown. */
  traceSpansMax: 5000,
  chatMessageMaxChars: 100_000,
  blackboardKeyMaxChars: 512,
  blackboardValueMaxBytes: 262_144,
  notifyMaxChars: 2000,
  /** Queued runs in one lane (ledger invariant R6). */
  laneQueueMax: 100,
  queuedMaxMs: 24 * 3600 * 1000,
  waitingMaxMs: 7 * 24 * 3600 * 1000,
  leaseMs: 60_000,
  leaseRenewalMs: 15_000,
  runAttemptsMax: 3,
  handOffDepthMax: 8,
  /** The maximum length of the search text for runs. */
  runSearchMaxChars: 200,
  keepAliveMs: 15_000,
  /** The longest delay before a model call is retried that an agent may report: one day. */
  modelWaitMaxSeconds: 86_400,
  /** Headers of one request that the mesh sends for an agent, names and values together. */
  outboundHeadersMax: 64,
  outboundHeadersMaxChars: 32_000,
} as const

/** Limits for one JSON text, checked in one pass over its bytes before it is parsed. */
export interface JsonBounds {
  /** Values of any kind, arrays and objects included. */
  readonly nodesMax: number
  /** Members of all objects together: a member with a distinct name costs several times as much as a value. */
  readonly membersMax: number
  readonly depthMax: number
  readonly nameMaxBytes: number
  readonly numberMaxBytes: number
}

/** Some levels more than a value may have (`jsonDepthMax`), because a body encloses the value. */
const shape = { depthMax: 128, nameMaxBytes: 16 * 1024, numberMaxBytes: 1024 }

/**
 * A hostile text of four megabytes can contain two million values. Parsing them takes seconds of the event loop and
 * hundreds of megabytes. Honest texts of that length are long strings.
 */
export const jsonLimits = {
  /** Bodies on any API but the model gateway's. */
  body: { ...shape, nodesMax: 100_000, membersMax: 25_000 },
  /** Prompts: long conversations have some 20,000 values, and lists of tokens to embed have up to this many. */
  modelBody: { ...shape, nodesMax: 200_000, membersMax: 50_000 },
  /** Replies and frames of agents' processes. */
  agentReply: { ...shape, nodesMax: 200_000, membersMax: 50_000 },
  /** Answers of providers: 2,048 vectors of 512 numbers, or fewer longer ones. */
  modelAnswer: { ...shape, nodesMax: 1_500_000, membersMax: 100_000 },
  /** An answer that a package parses whole, not charged to a caller's share of the loop: 0.2 s at most. */
  packageAnswer: { ...shape, nodesMax: 1_500_000, membersMax: 20_000 },
  /** Answers of other servers that the mesh reads itself. */
  serverReply: { ...shape, nodesMax: 100_000, membersMax: 50_000 },
  /** Packets of chat platforms' gateways: for a large Discord guild one packet lists all channels and roles. */
  gatewayPacket: { ...shape, nodesMax: 500_000, membersMax: 250_000 },
  /** Deliveries are parsed only if the webhook has a condition. */
  delivery: { ...shape, nodesMax: 200_000, membersMax: 50_000 },
} as const satisfies Record<string, JsonBounds>

/** Limits of what an agent stores of a fact and of its sources, in characters unless stated otherwise. */
export const memoryLimits = {
  factTextMaxChars: 4000,
  factKeyMaxChars: 200,
  factCategoryMaxChars: 64,
  /** Each part of a fact's source: run, tool, origin, channel. */
  sourceWordMaxChars: 200,
  /** Addresses that a fact cites. */
  sourceUrlsMax: 5,
  sourceUrlMaxChars: 2048,
} as const

/** The limit of a workspace text that has no cap of its own, in characters. */
export const workspaceTextMaxChars = 1024 * 1024

/** What one agent may make the mesh do and store, whatever it sends or answers. */
export const agentShare = {
  /** Buffered bodies of calls, for all agents and for one of them; replies have the same limits again. */
  heldBytes: {
    max: 128 * 1024 * 1024,
    perAgentMax: 16 * 1024 * 1024,
    /** Reserved for each agent, up to `reserveMax` for all of them: for 128 agents. */
    floor: 256 * 1024,
    reserveMax: 32 * 1024 * 1024,
  },
  /** Agents' files that are buffered for people, until each person has downloaded theirs. */
  downloadBytes: {
    max: 128 * 1024 * 1024,
    perAgentMax: 32 * 1024 * 1024,
    floor: 256 * 1024,
    reserveMax: 32 * 1024 * 1024,
  },
  /** Running calls with an effect, those whose client has disconnected included. Floors for 128 agents. */
  effectsUnderWay: { max: 1024, perAgentMax: 64, floor: 4, reserveMax: 512 },
  /**
   * Answers of models that the mesh reads on after the client has disconnected. They count among an agent's open
   * calls. Floors for 32 agents.
   */
  readOn: { max: 128, perAgentMax: 16, floor: 2, reserveMax: 64 },
  /** Name look-ups. For this and the following limits, one place is reserved for each agent of the largest fleet. */
  lookups: { max: 1256, perAgentMax: 32, floor: 1, reserveMax: 1000 },
  /** Downloads of pictures and documents that prompts refer to by address. */
  mediaFetches: { max: 1032, perAgentMax: 4, floor: 1, reserveMax: 1000 },
  /** Connections through the forward proxy: each holds two sockets. */
  tunnels: { max: 2024, perAgentMax: 64, floor: 1, reserveMax: 1000 },
  /** Exchanges with MCP servers. */
  mcpExchanges: { max: 2024, perAgentMax: 32, floor: 1, reserveMax: 1000 },
  /** Connections to one provider that carry calls. An agent may not have more open calls in total. */
  providerConnections: { max: 1256, perAgentMax: 64, floor: 1, reserveMax: 1000 },
  /** Payments, simulations and contract reads that query chains and price sources. Floors for 100 agents. */
  walletCalls: { max: 132, perAgentMax: 16, floor: 1, reserveMax: 100 },
  /** Balance queries of agents. Floors for 100 agents. */
  walletBalances: { max: 116, perAgentMax: 8, floor: 1, reserveMax: 100 },
  /** Time of the mesh's event loop for reading and carrying out an agent's calls; replies have the same limit again. */
  loopMsPerMinute: 6000,
} as const

/** Limits of the lifecycle of agents. */
export const lifecycleLimits = {
  /** Agents of one fleet; a machine that could run more needs more than one database. */
  agentsMax: 1000,
  /** Consecutive health checks that an agent may leave unanswered. */
  missesMax: 3,
  /** An agent that was restarted this often and is lost again is quarantined; a setting. */
  restartsPerHour: { default: 3, min: 0, max: 1000 },
  /** A worker that is idle for this time hibernates until its next work; a setting, for the fleet and for one agent. */
  hibernateAfterMinutes: { default: 30, min: 1, max: 525_600 },
  /** A stopping mesh waits this long for running work of its agents, and then aborts the rest. */
  shutdownMs: 30_000,
} as const

/** Agents that agents create for one task. Their maximum numbers at the same time are settings. */
export const spawnLimits = {
  ttlSeconds: { default: 3600, min: 60, max: 86_400 },
  roleMaxChars: 64,
  promptMaxChars: 10_000,
  budgetUsd: { default: 1, min: 0.01, max: 1000 },
  /** A spawned agent may spawn a child, but the child may not spawn another. */
  depthMax: 2,
  /** Children of one agent at the same time. */
  perParentMax: { default: 3, min: 0, max: 50 },
  /** Spawned agents of the whole fleet at the same time. */
  fleetMax: { default: 20, min: 0, max: 500 },
} as const

export const contextLimits = {
  /** How long an agent relies on a context window learned from a refusal. It may be wrong; a retry costs one call. */
  learnedWindowMs: 60 * 60 * 1000,
} as const

/** Limits of a fleet template file. */
export const templateLimits = {
  fileMaxChars: 256 * 1024,
  agentsMax: 50,
  webhooksMax: 50,
  schedulesMax: 100,
  /** Files and skills per agent. */
  filesPerAgentMax: 50,
  fileContentMaxChars: 64 * 1024,
} as const

/** Limits of the recorded model conversations of runs, by which a run can be inspected, replayed and forked. */
export const recordLimits = {
  /** Bytes per run; later exchanges are not stored, and the record says so. */
  runMaxBytes: 8 * 1024 * 1024,
  exchangesPerRunMax: 1000,
  /** Messages of one run, counted in full for each of its exchanges, because a reader goes through them all. */
  messagesPerRunMax: 1_000_000,
  /** The share of all records that one agent's records may take. */
  agentShareMax: 0.5,
} as const

/** Limits of agents' browsers: the ranges of settings, and fixed limits. */
export const browserBounds = {
  maxLive: { default: 2, min: 1, max: 20 },
  idleMinutes: { default: 5, min: 0.1, max: 1440 },
  profileLimitMb: { default: 512, min: 64, max: 65_536 },
  /** How long a page with a CAPTCHA waits for a person. */
  captchaWaitMs: 60 * 60_000,
  /** After this time without watching the screen, a person's control returns to the agent. */
  unwatchedControlMs: 10 * 60_000,
  /** Viewers of screens, per browser and in total. */
  watchersPerBrowserMax: 8,
  watchersMax: 64,
} as const

/** Limits of the paid CAPTCHA solver, if the owner has set one up: for all agents together. */
export const captchaSolverBounds = {
  perHour: { default: 20, min: 1, max: 500 },
  dailyUsd: { default: 1, min: 0, max: 1000 },
  /** The assumed maximum cost of one answer, in US dollars, for each key that is tried. */
  answerUsd: { default: 0.005, min: 0.0001, max: 1 },
  /** After this many consecutive failures no call is made for `restMs`. */
  failuresMax: 3,
  restMs: 30 * 60_000,
  /** The time limit for one key, from the request to the answer. */
  answerWithinMs: 120_000,
  pollEveryMs: 5000,
  /** The time limit of one request to the solver. */
  requestTimeoutMs: 15_000,
  /** The size limit of a reply after decompression. */
  replyMaxBytes: 64 * 1024,
  neverSolveMax: 1000,
} as const
