/** One row of the specification's Limits table: a number with its unit in the name, and the clause it comes from. */
export interface Clamp {
  readonly default: number
  readonly min: number
  readonly max: number
}

/**
 * The rows of the specification's Limits table that both agents and mesh, or several contexts, use; every other row
 * is with its owner. Ids after `//` are clause ids of tests/requirements. No other code may repeat these numbers.
 */
export const limits = {
  /** How many rounds of model calls an agent may use for one task. */
  taskIterations: { default: 20, min: 1, max: 100 }, // limits:task-iterations
  /** How many rounds of model calls an agent may use for one turn of a chat. */
  chatRoundsPerTurn: { default: 30, min: 1, max: 200 }, // limits:chat-rounds-per-turn
  /** How many rounds of model calls an agent may use in one chat conversation. */
  chatRoundsPerSession: { default: 200, min: 1, max: 1000 }, // limits:chat-rounds-per-session
  /** The range of daily budgets, and the one of a new agent, in US dollars. */
  budgetDailyUsd: { default: 10, min: 0.01, max: 1000 }, // limits:budget-daily
  /** The range of monthly budgets, and the one of a new agent, in US dollars. */
  budgetMonthlyUsd: { default: 200, min: 0.1, max: 30_000 }, // limits:budget-monthly
  /** The maximum length of the source of a skill, in characters. */
  skillSourceMaxChars: 10_000, // limits:skill-source-chars
  workspaceFileMaxChars: {
    'SOUL.md': 4000,
    'INSTRUCTIONS.md': 12_000,
    'USER.md': 4000,
    'MEMORY.md': 16_000,
    'INTERFACE.md': 4000,
    'AGENTS.md': 12_000,
    'SYSTEM.md': 6000,
  }, // limits:workspace-files
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
  /** The maximum size of an artifact that an agent saves, in bytes. */
  artifactMaxBytes: 2 * 1024 * 1024,
  /** The maximum size of a file that a person uploads to an agent, in bytes. */
  uploadMaxBytes: 50 * 1024 * 1024,
  /** The maximum length of a message to an agent, in characters. */
  chatMessageMaxChars: 100_000,
  /** The maximum length of a blackboard key, in characters. */
  blackboardKeyMaxChars: 512,
  /** The maximum length of a notice that an agent sends to the owner, in characters. */
  notifyMaxChars: 2000,
  /** How often an agent renews the lease of its run, in milliseconds. */
  leaseRenewalMs: 15_000,
  /** The maximum length of the search text for runs. */
  runSearchMaxChars: 200,
  /** How often the sender of a silent stream sends a keep-alive comment, in milliseconds. */
  keepAliveMs: 15_000,
  /** The longest delay before a model call is retried that an agent may report: one day. */
  modelWaitMaxSeconds: 86_400,
  /** The maximum number of headers of one request that the mesh sends for an agent. */
  outboundHeadersMax: 64,
  /** The maximum length of all headers of one request that the mesh sends for an agent, in characters. */
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

/**
 * Limits of one JSON text: nesting, and bytes of a name and of a number. The nesting is some levels more than a value
 * may have (`jsonDepthMax`), because a body encloses the value.
 */
const shape = { depthMax: 128, nameMaxBytes: 16 * 1024, numberMaxBytes: 1024 }

/**
 * A hostile text of four megabytes can contain two million values. Parsing them takes seconds of the event loop and
 * hundreds of megabytes. Honest texts of that length are long strings.
 */
export const jsonLimits = {
  /** Limits for request bodies on any API except the model gateway: values, and members of objects. */
  body: { ...shape, nodesMax: 100_000, membersMax: 25_000 },
  /**
   * Limits for prompts: long conversations have some 20,000 values, and lists of tokens to embed have up to this
   * many.
   */
  modelBody: { ...shape, nodesMax: 200_000, membersMax: 50_000 },
  /** Limits for replies of agent processes, and for frames of their streams. */
  agentReply: { ...shape, nodesMax: 200_000, membersMax: 50_000 },
  /** Limits for answers of model providers: 2,048 vectors of 512 numbers, or fewer longer ones. */
  modelAnswer: { ...shape, nodesMax: 1_500_000, membersMax: 100_000 },
  /**
   * Limits for an answer that an AI SDK package parses whole, without charging an agent's share of the event loop:
   * 0.2 s at most.
   */
  packageAnswer: { ...shape, nodesMax: 1_500_000, membersMax: 20_000 },
  /** Limits for answers of other servers that the mesh itself parses. */
  serverReply: { ...shape, nodesMax: 100_000, membersMax: 50_000 },
  /**
   * Limits for packets of chat platforms' gateways: for a large Discord guild one packet lists all channels and
   * roles.
   */
  gatewayPacket: { ...shape, nodesMax: 500_000, membersMax: 250_000 },
  /** Limits for webhook deliveries, which are parsed only if the webhook has a condition. */
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
