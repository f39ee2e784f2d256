import { harnessCallKinds, harnessCallName } from '@flotilla/protocol/harness-api'

/** What is known of a payment, and of a call of a contract or of a harness. */
interface PaymentFacts {
  readonly chain?: string
  /** The contract that a payment calls, for a token the token's, and `coin` for the chain's coin; lower case if hexadecimal. */
  readonly contract?: string
  /** Every address that may receive something by a payment, in order; lower case if hexadecimal. */
  readonly payees?: readonly string[]
  /**
   * SHA-256 of a call with all of its arguments: of a contract, or of a harness; null for a call of a harness that is
   * not known whole.
   */
  readonly call?: string | null
  /** The value of a payment with its fee, in US dollars. */
  readonly usd?: number | null
}

/**
 * Something that an agent wants to do outside of its container, as the mesh sees it right before it happens. A field
 * that is absent does not apply (a notice has no host). A field that is null applies, but the mesh cannot see its
 * value: a tunnel hides method and path.
 */
export interface Effect extends PaymentFacts {
  readonly agent: string
  /** The project that the agent belongs to; absent without one. */
  readonly project?: string
  /** One of `policedTools`. */
  readonly tool: string
  /** In upper case. */
  readonly method?: string | null
  /** In lower case, without brackets and without a final dot. */
  readonly host?: string
  /** The path of the address as it will be sent, without the query. */
  readonly path?: string | null
  readonly mcpServer?: string
  readonly mcpTool?: string | null
  /** The names of all credentials that are filled in. */
  readonly credentials?: readonly string[]
  /** The kinds of origin of the run and of all runs that led to it; null if the work belongs to no run. */
  readonly origins?: readonly string[] | null
  /** The channels on which the run and all runs that led to it were asked for; null if they are not known. */
  readonly channels?: readonly string[] | null
}

/** Where the work comes from in which an effect happens. */
export type WorkOrigins = Required<Pick<Effect, 'origins' | 'channels'>>

/** An effect without what follows from its caller. */
export type EffectDetails = Omit<Effect, 'agent' | 'project' | keyof WorkOrigins>

/** How the names of calls of a harness begin. */
export const harnessCallPrefix = 'harness_'

/**
 * The tools whose effects the policy decides: `fetch_media` is a picture or document that a model call names, `connect` is a program behind the forward proxy, `browser` a connection of
 * an agent's browser, `mcp` an exchange with an MCP server on the network, `harness_execute` and its like a call that a harness asks for.
 */
export const policedTools = [
  'http_request',
  'fetch_media',
  'connect',
  'browser',
  'mcp',
  'wallet_transfer',
  'wallet_execute',
  ...harnessCallKinds.map(harnessCallName),
] as const

/**
 * The method by which rules name the opening of a WebSocket. Nothing reads what follows it, so an allowing rule must name
 * this method.
 */
export const webSocketMethod = 'WEBSOCKET'

export const verdicts = ['allow', 'ask', 'deny'] as const
export type Verdict = (typeof verdicts)[number]

export interface PolicyDecision {
  readonly verdict: Verdict
  /** The name of the rule that decides; null if no rule matches, or if the file is invalid. */
  readonly rule: string | null
  /** The line of that rule in config/policy.yaml, or of the fault in an invalid file; null if no line decides. */
  readonly line: number | null
  /** The reason as text for agents and people. */
  readonly reason: string
}

/** Decides about an effect; the permission record is checked before and stays the outer bound. Pure. */
export type DecideEffect = (effect: Effect) => PolicyDecision
