import type { browserSessionStates } from '@flotilla/protocol/browser-api'

/** The states of one agent's browser. Times are milliseconds since 1970. Pure. */
export type SessionState =
  | { readonly kind: 'closed' }
  | { readonly kind: 'opening'; readonly since: number }
  | { readonly kind: 'live'; readonly since: number }
  | { readonly kind: 'closing'; readonly since: number; readonly reason: string }
  /** The browser failed to start or its container ended by itself; the next use tries again. */
  | { readonly kind: 'failed'; readonly since: number; readonly reason: string }

export type SessionStateKind = (typeof browserSessionStates)[number]

export type SessionEvent =
  | { readonly kind: 'open' }
  | { readonly kind: 'opened' }
  | { readonly kind: 'close'; readonly reason: string }
  | { readonly kind: 'closed' }
  | { readonly kind: 'failed'; readonly reason: string }

/** The state after each event. An event without an entry is invalid in that state. */
const table: Readonly<Record<SessionStateKind, Partial<Record<SessionEvent['kind'], SessionStateKind>>>> = {
  closed: { open: 'opening' },
  // A session that is opening can be closed, because its agent is deleted or the mesh stops.
  opening: { opened: 'live', failed: 'failed', close: 'closing' },
  live: { close: 'closing', failed: 'failed' },
  closing: { closed: 'closed' },
  failed: { open: 'opening', close: 'closing' },
}

export const closedState: SessionState = { kind: 'closed' }

/** Returns the next state; null if the event is invalid in this state. */
export function nextState(state: SessionState, event: SessionEvent, now: number): SessionState | null {
  const to = table[state.kind][event.kind]
  if (to === undefined) return null
  if (to === 'closed') return closedState
  if (to === 'opening' || to === 'live') return { kind: to, since: now }
  return { kind: to, since: now, reason: 'reason' in event ? event.reason : '' }
}

/** Returns true if the state takes a place, because a container may run. */
export function takesPlace(state: SessionState): boolean {
  return state.kind === 'opening' || state.kind === 'live' || state.kind === 'closing'
}
