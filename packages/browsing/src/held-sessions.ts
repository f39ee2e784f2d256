import { join } from 'node:path'
import { Problem } from '@flotilla/protocol/problem'
import type { EventBus } from '@flotilla/foundation/events'
import type { BrowserContainers } from '@flotilla/fleet/sandbox'
import type { BrowserService, OpenBrowserService } from './browser-service.ts'
import type { BrowserTokens } from './browser-tokens.ts'
import { closedState, nextState, takesPlace } from './session-state.ts'
import type { SessionEvent, SessionState } from './session-state.ts'
import { noPage } from './shown-page.ts'
import type { ShownPage } from './shown-page.ts'
import type { WorkKernel } from '@flotilla/work/events'

/** The state of one agent's browser. */
export interface Session {
  readonly state: SessionState
  readonly service: BrowserService | null
  readonly page: ShownPage
  /** The number of actions that are running; `watchers` is the number of people who watch the screen. */
  readonly acting: number
  readonly watchers: number
  /** When the browser was last used or watched, in milliseconds since 1970. */
  readonly usedAt: number
  /** When the screen was last watched, in milliseconds since 1970; if never, when the browser was opened. */
  readonly watchedAt: number
}

export type HeldSession = { -readonly [Key in keyof Session]: Session[Key] } & {
  /** The open or close operation in progress; null if no operation runs. */
  moving: Promise<void> | null
}

export interface SessionsDeps extends Pick<WorkKernel, 'clock' | 'journal' | 'log' | 'identityEvents'> {
  readonly containers: BrowserContainers
  readonly openService: OpenBrowserService
  readonly tokens: BrowserTokens
  /**
   * Opens the egress proxy for browsers and returns its address. Called before each start, and idempotent.
   */
  readonly openProxy: () => Promise<{ readonly port: number }>
  readonly publicKeyBase64url: string
  readonly briefsFolder: string
  readonly maxLive: () => number
  /**
   * Returns the reason why the agent may not use a browser now: it was deleted, archived, or lost
   * the permission. Null if it may.
   */
  readonly withheld: (agentId: string) => string | null
  readonly profileLimitBytes: () => number
  readonly events: Pick<EventBus, 'publish'>
  /** Called when a browser is gone: runs that waited for a person stop waiting. */
  readonly onGone: (agentId: string) => void
}

/** The dependencies of opening and closing a browser, and the open sessions by agent. */
export interface SessionsContext extends SessionsDeps {
  readonly sessions: Map<string, HeldSession>
}

export const freshSession: Session = {
  state: closedState,
  service: null,
  page: noPage,
  acting: 0,
  watchers: 0,
  usedAt: 0,
  watchedAt: 0,
}

export function heldSession({ sessions }: Pick<SessionsContext, 'sessions'>, agentId: string): HeldSession {
  const session = sessions.get(agentId) ?? { ...freshSession, moving: null }
  sessions.set(agentId, session)
  return session
}

/** Applies an event. Returns false if the event is invalid in this state; the state then stays unchanged. */
export function moveSession(
  { clock }: Pick<SessionsContext, 'clock'>,
  session: HeldSession,
  event: SessionEvent,
): boolean {
  const next = nextState(session.state, event, clock.now())
  if (next !== null) session.state = next
  return next !== null
}

/**
 * Throws Problem `browsers-full` if other agents use all places, or if agents of one root ancestor
 * would take the last of several places. Pure.
 */
export function requirePlace(
  sessions: ReadonlyMap<string, Pick<Session, 'state'>>,
  agentId: string,
  { max, rootOf }: { readonly max: number; readonly rootOf: (agentId: string) => string },
): void {
  const live = [...sessions].filter(([id, { state }]) => id !== agentId && takesPlace(state))
  const root = rootOf(agentId)
  const ofRoot = live.filter(([id]) => rootOf(id) === root)
  const isLastKept = live.length < max && max > 1 && ofRoot.length >= max - 1
  if (live.length < max && !isLastKept) return
  if (isLastKept) {
    throw new Problem('browsers-full', {
      detail: `${ofRoot.length} of ${max} browsers are open for ${root} and the agents that it spawned; the last browser is reserved for other agents`,
      retryAfterSeconds: 60,
    })
  }
  throw new Problem('browsers-full', {
    detail: `${live.length} of ${max} browsers are open, for the agents ${live.map(([id]) => id).join(', ')}; no browser in use is closed for another agent`,
    retryAfterSeconds: 60,
  })
}

/** Returns the folder with the start files of one browser, below `briefsFolder`. Pure. */
export function briefFolderOf(briefsFolder: string, agentId: string): string {
  return join(briefsFolder, Buffer.from(agentId, 'utf8').toString('hex'))
}
