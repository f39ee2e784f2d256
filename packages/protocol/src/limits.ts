/** One row of the specification's Limits table: a number with its unit in the name, and the clause it comes from. */
export interface Clamp {
  readonly default: number
  readonly min: number
  readonly max: number
}

/**
 * The Limits table of the specification, in its order. Ids after `//` are clause ids of tests/requirements.ts.
 * Nothing else may write these numbers down.
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

/** Brings a setting into its range; anything that is not a number gives the default. */
export function clamp(range: Clamp, value: number | undefined): number {
  if (value === undefined || !Number.isFinite(value)) return range.default
  return Math.min(range.max, Math.max(range.min, value))
}

/** Bounds that are ours and not the specification's; both sides of an API must agree on them. */
export const wireLimits = {
  /** Largest JSON body on any API but the model surface. */
  bodyMaxBytes: 1024 * 1024,
  /** Largest prompt body on the model surface. */
  modelBodyMaxBytes: 4 * 1024 * 1024,
  artifactMaxBytes: 2 * 1024 * 1024,
  uploadMaxBytes: 50 * 1024 * 1024,
  /** Parts of one trace that are shown at once; the earliest are. */
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
  /** Words that runs are searched for. */
  runSearchMaxChars: 200,
  keepAliveMs: 15_000,
  /** Longest wait before a model is asked again that an agent may tell of; a day. */
  modelWaitMaxSeconds: 86_400,
  /** Of one request that an agent has the mesh make, names and values together. */
  outboundHeadersMax: 64,
  outboundHeadersMaxChars: 32_000,
} as const

/** What one JSON text may hold, by one pass over its bytes before anything is made of it. */
export interface JsonBounds {
  /** Values of any kind, the containers among them. */
  readonly nodesMax: number
  /** Names with their values, in all objects together: names of their own cost several times what values do. */
  readonly membersMax: number
  readonly depthMax: number
  readonly nameMaxBytes: number
  readonly numberMaxBytes: number
}

/** Some levels above those of a value (`jsonDepthMax`), because a body encloses it. */
const shape = { depthMax: 128, nameMaxBytes: 16 * 1024, numberMaxBytes: 1024 }

/**
 * A text of four megabytes can say two million values, which cost seconds of the loop that all agents wait for, and
 * hundreds of megabytes. Honest texts of that length are long strings.
 */
export const jsonLimits = {
  /** Bodies at any API but the model surface. */
  body: { ...shape, nodesMax: 100_000, membersMax: 25_000 },
  /** Prompts: long conversations have some 20,000 values, lists of tokens to embed up to this. */
  modelBody: { ...shape, nodesMax: 200_000, membersMax: 50_000 },
  /** Replies and frames of agents' processes. */
  agentReply: { ...shape, nodesMax: 200_000, membersMax: 50_000 },
  /** Answers of providers: 2,048 vectors of 512 numbers, or fewer longer ones. */
  modelAnswer: { ...shape, nodesMax: 1_500_000, membersMax: 100_000 },
  /** The same where a package parses all of it, outside of any caller's share of the loop: 0.2 s at most. */
  packageAnswer: { ...shape, nodesMax: 1_500_000, membersMax: 20_000 },
  /** Answers of other servers that the mesh reads itself. */
  serverReply: { ...shape, nodesMax: 100_000, membersMax: 50_000 },
  /** Packets of chat platforms' gateways: a large guild of Discord tells of all its channels and roles at once. */
  gatewayPacket: { ...shape, nodesMax: 500_000, membersMax: 250_000 },
  /** Deliveries are not parsed but where a hook has a condition. */
  delivery: { ...shape, nodesMax: 200_000, membersMax: 50_000 },
} as const satisfies Record<string, JsonBounds>

/** What an agent keeps of a fact, and what is believed to be one. Characters but where it says otherwise. */
export const memoryLimits = {
  factTextMaxChars: 4000,
  factKeyMaxChars: 200,
  factCategoryMaxChars: 64,
  /** Of what says where a fact comes from: run, tool, origin, channel. */
  sourceWordMaxChars: 200,
  /** Addresses that a fact names. */
  sourceUrlsMax: 5,
  sourceUrlMaxChars: 2048,
} as const

/** A text that an agent works by and that has no cap of its own, characters. */
export const workspaceTextMaxChars = 1024 * 1024

/** What one agent may have the mesh do and keep for it, whatever it sends or answers. */
export const agentShare = {
  /** Bodies of calls that are held for all agents at once, and for one of them; and as much again of replies. */
  heldBytes: {
    max: 128 * 1024 * 1024,
    perAgentMax: 16 * 1024 * 1024,
    /** Always there for an agent, and set apart of all for these: for 128 agents. */
    floor: 256 * 1024,
    reserveMax: 32 * 1024 * 1024,
  },
  /** Files of agents that are held for people, until each has taken theirs. */
  downloadBytes: {
    max: 128 * 1024 * 1024,
    perAgentMax: 32 * 1024 * 1024,
    floor: 256 * 1024,
    reserveMax: 32 * 1024 * 1024,
  },
  /** Calls with an effect that are under way, those whose caller has gone among them. Floors for 128 agents. */
  effectsUnderWay: { max: 1024, perAgentMax: 64, floor: 4, reserveMax: 512 },
  /**
   * Answers of models that are read on after the client has left. They count among an agent's open calls. Floors for
   * 32 agents.
   */
  readOn: { max: 128, perAgentMax: 16, floor: 2, reserveMax: 64 },
  /** Names that are looked up. Here and below a place is set apart for each agent of the largest fleet. */
  lookups: { max: 1256, perAgentMax: 32, floor: 1, reserveMax: 1000 },
  /** Pictures and documents that prompts name by their address, while they are fetched. */
  mediaFetches: { max: 1032, perAgentMax: 4, floor: 1, reserveMax: 1000 },
  /** Connections through the forward proxy: each holds two sockets. */
  tunnels: { max: 2024, perAgentMax: 64, floor: 1, reserveMax: 1000 },
  /** Exchanges with MCP servers. */
  mcpExchanges: { max: 2024, perAgentMax: 32, floor: 1, reserveMax: 1000 },
  /** Connections to one provider that carry calls. An agent may not have more calls open at all. */
  providerConnections: { max: 1256, perAgentMax: 64, floor: 1, reserveMax: 1000 },
  /** Payments, simulations and reads of contracts that chains and price sources are asked about. Floors for 100 agents. */
  walletCalls: { max: 132, perAgentMax: 16, floor: 1, reserveMax: 100 },
  /** Balances that agents ask of chains. Floors for 100 agents. */
  walletBalances: { max: 116, perAgentMax: 8, floor: 1, reserveMax: 100 },
  /** Time of the mesh's one loop that reading and carrying out its calls may take, and as much again its replies. */
  loopMsPerMinute: 6000,
} as const

/** How agents live beside each other. */
export const lifecycleLimits = {
  /** Agents of one fleet; a machine that could run more wants more than one database. */
  agentsMax: 1000,
  /** Questions for its health in a row that an agent may leave unanswered. */
  missesMax: 3,
  /** After which an agent that is lost again is in quarantine; a setting. */
  restartsPerHour: { default: 3, min: 0, max: 1000 },
  /** Idle for so long, a worker sleeps until its next work; a setting, for the fleet and for one agent. */
  hibernateAfterMinutes: { default: 30, min: 1, max: 525_600 },
  /** A stopping mesh waits this long for running work of its agents, and drops the rest. */
  shutdownMs: 30_000,
} as const

/** Agents that agents make for one task. How many there may be at once are settings. */
export const spawnLimits = {
  ttlSeconds: { default: 3600, min: 60, max: 86_400 },
  roleMaxChars: 64,
  promptMaxChars: 10_000,
  budgetUsd: { default: 1, min: 0.01, max: 1000 },
  /** A child, and a child of that; neither makes more. */
  depthMax: 2,
  /** Of one agent at once. */
  perParentMax: { default: 3, min: 0, max: 50 },
  /** Of all agents at once. */
  fleetMax: { default: 20, min: 0, max: 500 },
} as const

export const contextLimits = {
  /** How long a window is believed that a refusal has shown. It may have been wrong, and asking again costs one call. */
  learnedWindowMs: 60 * 60 * 1000,
} as const

/** A fleet as a file. */
export const templateLimits = {
  fileMaxChars: 256 * 1024,
  agentsMax: 50,
  webhooksMax: 50,
  schedulesMax: 100,
  /** Files and skills of one agent. */
  filesPerAgentMax: 50,
  fileContentMaxChars: 64 * 1024,
} as const

/** What is kept of the model conversations of runs, so that a run can be inspected, replayed and forked. */
export const recordLimits = {
  /** Of one run, bytes; what comes after is not kept, and the record says so. */
  runMaxBytes: 8 * 1024 * 1024,
  exchangesPerRunMax: 1000,
  /** Of one run, in all its exchanges when they are whole: what a reader goes through. */
  messagesPerRunMax: 1_000_000,
  /** Part of all records that those of one agent may take. */
  agentShareMax: 0.5,
} as const

/** Browsers of agents: what a setting may say, and what is ours. */
export const browserBounds = {
  maxLive: { default: 2, min: 1, max: 20 },
  idleMinutes: { default: 5, min: 0.1, max: 1440 },
  profileLimitMb: { default: 512, min: 64, max: 65_536 },
  /** So long a page that wants to know whether a person is there waits for one. */
  captchaWaitMs: 60 * 60_000,
  /** A person who has taken over and looks at the screen no more gives it back after so long. */
  unwatchedControlMs: 10 * 60_000,
  /** Screens that people look at, of one browser and of all. */
  watchersPerBrowserMax: 8,
  watchersMax: 64,
} as const

/** Who answers CAPTCHAs for money, where the owner has set that up: over all agents together. */
export const captchaSolverBounds = {
  perHour: { default: 20, min: 1, max: 500 },
  dailyUsd: { default: 1, min: 0, max: 1000 },
  /** What one answer is taken to cost at most, USD, of each key that is tried. */
  answerUsd: { default: 0.005, min: 0.0001, max: 1 },
  /** After this many consecutive failures no call is made for a while. */
  failuresMax: 3,
  restMs: 30 * 60_000,
  /** Of one key, from the question to the answer. */
  answerWithinMs: 120_000,
  pollEveryMs: 5000,
  /** One request to who answers. */
  requestTimeoutMs: 15_000,
  /** Decompressed. */
  replyMaxBytes: 64 * 1024,
  neverSolveMax: 1000,
} as const
