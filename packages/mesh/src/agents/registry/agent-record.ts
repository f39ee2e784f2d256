/** What an agent is and which life it may lead. Pure. */

export type AgentKind = 'operator' | 'worker'

export interface AgentBudget {
  readonly dailyUsd: number
  readonly monthlyUsd: number
}

export interface AgentRecord {
  readonly id: string
  readonly kind: AgentKind
  readonly role: string
  /** Null follows the fleet's default model, also when that changes. */
  readonly model: string | null
  /** First content of the agent's INSTRUCTIONS.md. */
  readonly instructions: string
  readonly budget: AgentBudget
  /** Whose budget its calls are charged to, beside its own and the fleet's. */
  readonly project: string | null
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

/** Where an agent's sandbox stands. `failed` is not the end: a start leads out of it. */
export type AgentState =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'starting'; readonly since: number }
  | { readonly kind: 'ready'; readonly since: number }
  | { readonly kind: 'failed'; readonly reason: string; readonly since: number }

export type AgentChange =
  | { readonly kind: 'start'; readonly at: number }
  /** The process answered; of an agent that was ready already (adopted after a restart of ours) nothing changes. */
  | { readonly kind: 'answer'; readonly at: number }
  | { readonly kind: 'fail'; readonly reason: string; readonly at: number }
  | { readonly kind: 'stop' }

/** Which change leads where from each state; null is refused. */
export const agentTransitions = {
  stopped: { start: 'starting', answer: null, fail: null, stop: 'stopped' },
  starting: { start: 'starting', answer: 'ready', fail: 'failed', stop: 'stopped' },
  ready: { start: 'starting', answer: 'ready', fail: 'failed', stop: 'stopped' },
  failed: { start: 'starting', answer: null, fail: 'failed', stop: 'stopped' },
} as const satisfies Record<AgentState['kind'], Record<AgentChange['kind'], AgentState['kind'] | null>>

/** The state after the change, or null where the table refuses it. */
export function transition(state: AgentState, change: AgentChange): AgentState | null {
  if (agentTransitions[state.kind][change.kind] === null) return null
  switch (change.kind) {
    case 'start':
      return { kind: 'starting', since: change.at }
    case 'answer':
      return state.kind === 'ready' ? state : { kind: 'ready', since: change.at }
    case 'fail':
      return { kind: 'failed', reason: change.reason, since: change.at }
    case 'stop':
    default:
      return { kind: 'stopped' }
  }
}
