import type { AgentStateName } from '@flotilla/protocol/agent-lifecycle'

/**
 * The lifecycle of an agent: one union of states and one table of transitions. Pure; callers ask
 * `transition` and store its result before they act on it. Times are milliseconds since 1970.
 *
 * - L1 The mesh assumes a running sandbox only in `running` and `unhealthy`, and only an answer of the agent's
 *   process leads to these states.
 * - L2 The intended state of an agent is in its row before any action: `stopping` contains the state to reach.
 *   If the mesh dies or the engine refuses, a later sweep can therefore finish the operation.
 * - L3 An intention is never weakened: an agent to be deleted is not archived, hibernated or started
 *   instead.
 * - L4 No transition leaves `deleted`; the row itself is removed. `archived` leads only to restoration
 *   or deletion.
 */
export type AgentState =
  | { readonly kind: 'created' }
  | { readonly kind: 'starting'; readonly since: number }
  | { readonly kind: 'running'; readonly since: number }
  | {
      readonly kind: 'unhealthy'
      readonly since: number
      /** Number of consecutive health checks that the agent did not answer. */
      readonly misses: number
      readonly reason: string
    }
  | {
      readonly kind: 'stopping'
      readonly since: number
      readonly to: RestingState
      readonly reason: string
    }
  | { readonly kind: 'stopped' | 'hibernated' | 'archived' | 'deleted'; readonly since: number }
  | {
      readonly kind: 'restarting' | 'quarantined'
      readonly since: number
      readonly reason: string
      /** When the mesh starts the agent again; in quarantine, when the mesh tries to. Milliseconds since 1970. */
      readonly dueAt: number
    }

/** The states that a stopped agent can reach, weakest first. */
export const restingStates = ['stopped', 'hibernated', 'archived', 'deleted'] as const
export type RestingState = (typeof restingStates)[number]

export type AgentEvent =
  | { readonly kind: 'start'; readonly at: number }
  /** The process answered. If the agent was running already (adopted after a restart), nothing changes. */
  | { readonly kind: 'answer'; readonly at: number }
  /** The agent did not answer a health check. */
  | { readonly kind: 'miss'; readonly at: number; readonly reason: string }
  /** The agent's sandbox ended, had to be ended, or could not be started. */
  | { readonly kind: 'lose'; readonly at: number; readonly reason: string; readonly dueAt: number }
  /** The agent's sandbox ended or could not be started, as with `lose`, but after too many restarts. */
  | { readonly kind: 'quarantine'; readonly at: number; readonly reason: string; readonly dueAt: number }
  | { readonly kind: 'stop'; readonly at: number; readonly to: RestingState; readonly reason: string }
  /** The agent's sandbox was ended as requested. */
  | { readonly kind: 'end'; readonly at: number }
  /** The agent is restored from the archive. */
  | { readonly kind: 'restore'; readonly at: number }

type Row = Readonly<Record<AgentEvent['kind'], AgentStateName | null>>

const atRest: Row = {
  start: 'starting',
  answer: null,
  miss: null,
  lose: null,
  quarantine: null,
  stop: 'stopping',
  end: null,
  restore: null,
}
const down: Row = { ...atRest, lose: 'restarting', quarantine: 'quarantined' }
const live: Row = { ...down, answer: 'running', miss: 'unhealthy' }

/**
 * The state that each event leads to, by current state; null: the event is refused. `transition` restricts two
 * entries further: no event in `stopping` weakens the intended state (L3), and only a deletion stops `archived`.
 */
export const agentTransitions = {
  created: atRest,
  starting: { ...down, answer: 'running' },
  running: live,
  unhealthy: live,
  stopping: { ...atRest, end: 'stopped' },
  stopped: atRest,
  hibernated: atRest,
  restarting: down,
  quarantined: down,
  archived: { ...atRest, start: null, restore: 'stopped' },
  deleted: { ...atRest, start: null, stop: null },
} as const satisfies Record<AgentStateName, Row>

/** Returns the state after the event, or null if the event is rejected. */
export function transition(state: AgentState, event: AgentEvent): AgentState | null {
  const to = agentTransitions[state.kind][event.kind]
  if (to === null || isRefused(state, event)) return null
  switch (event.kind) {
    case 'start':
      return { kind: 'starting', since: event.at }
    case 'answer':
      return state.kind === 'running' ? state : { kind: 'running', since: event.at }
    case 'miss':
      return {
        kind: 'unhealthy',
        since: state.kind === 'unhealthy' ? state.since : event.at,
        misses: state.kind === 'unhealthy' ? state.misses + 1 : 1,
        reason: event.reason,
      }
    case 'lose':
      return { kind: 'restarting', since: event.at, reason: event.reason, dueAt: event.dueAt }
    case 'quarantine':
      return { kind: 'quarantined', since: event.at, reason: event.reason, dueAt: event.dueAt }
    case 'stop':
      return { kind: 'stopping', since: event.at, to: event.to, reason: event.reason }
    case 'end':
      return { kind: state.kind === 'stopping' ? state.to : 'stopped', since: event.at }
    case 'restore':
    default:
      return { kind: 'stopped', since: event.at }
  }
}

function isRefused(state: AgentState, event: AgentEvent): boolean {
  if (state.kind === 'archived') return event.kind === 'stop' && event.to !== 'deleted'
  if (state.kind !== 'stopping') return false
  if (event.kind === 'start') return isForGood(state.to)
  return event.kind === 'stop' && isWeaker(event.to, state.to)
}

/** Returns true for the resting states out of which no work starts the agent. */
export function isForGood(state: RestingState): boolean {
  return state === 'archived' || state === 'deleted'
}

function isWeaker(state: RestingState, than: RestingState): boolean {
  return restingStates.indexOf(state) < restingStates.indexOf(than)
}

/** Returns the resting state that the agent has, or will have once it has stopped; null for any other agent. */
export function restOf(state: AgentState): RestingState | null {
  const { kind } = state
  if (kind === 'stopping') return state.to
  return isResting(kind) ? kind : null
}

function isResting(kind: AgentState['kind']): kind is RestingState {
  return restingStates.some((resting) => resting === kind)
}

/** Returns true if the agent rests in the target state or a stronger one, so that it need not be stopped. */
export function isAtRest(state: AgentState, target: RestingState): boolean {
  if (state.kind === 'stopping') return false
  const rest = restOf(state)
  if (rest === null) return state.kind === 'created' && (target === 'stopped' || target === 'hibernated')
  return !isWeaker(rest, target) || (rest === 'stopped' && target === 'hibernated')
}

/** Returns when the state began, milliseconds since 1970; null if that is unknown. */
export function sinceOf(state: AgentState): number | null {
  return state.kind === 'created' ? null : state.since
}

/** Describes why the agent does not work as it should; null if it does. */
export function troubleOf(state: AgentState): string | null {
  return 'reason' in state && state.kind !== 'stopping' ? state.reason : null
}
