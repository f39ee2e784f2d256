import { Problem } from '@flotilla/protocol/problem'
import type { BrowserService } from './browser-service.ts'
import { closeSession, failSession } from './close-session.ts'
import { freshSession, heldSession } from './held-sessions.ts'
import type { Session, SessionsContext, SessionsDeps } from './held-sessions.ts'
import { liveSession } from './open-session.ts'
import type { ShownPage } from './shown-page.ts'

/**
 * The browsers of agents, at most one each.
 *
 * 1. A browser opens with its first use and takes a place until its container is gone. If all places are
 * taken, the caller is refused, and no other browser is closed for it (lesson 122).
 * 2. Opening and closing happen once, and concurrent callers wait for the same operation.
 * 3. The token of a browser is valid from before its container starts until closing begins.
 */
export interface BrowserSessions {
  of(agentId: string): Session
  list(): readonly (readonly [string, Session])[]
  /** Runs `work` with the browser, opened if necessary. Problems `browsers-full`, `browser-unavailable`. */
  use<T>(agentId: string, signal: AbortSignal, work: (service: BrowserService) => Promise<T>): Promise<T>
  shows(agentId: string, page: ShownPage): void
  /** Counts a watcher until the returned function is called. */
  watch(agentId: string): () => void
  close(agentId: string, reason: string): Promise<void>
  /** Records that the container ended by itself. */
  lost(agentId: string, reason: string): Promise<void>
  /** Closes the browser and deletes its profile. */
  forget(agentId: string): Promise<void>
}

export function createBrowserSessions(deps: SessionsDeps): BrowserSessions {
  const context: SessionsContext = { ...deps, sessions: new Map() }
  return {
    of: (agentId) => context.sessions.get(agentId) ?? freshSession,
    list: () => [...context.sessions],
    use: async (agentId, signal, work) => useSession(context, { agentId, signal }, work),
    shows: (agentId, page) => showPage(context, agentId, page),
    watch: (agentId) => watchSession(context, agentId),
    close: async (agentId, reason) => closeSession(context, agentId, reason),
    lost: async (agentId, reason) => {
      const session = heldSession(context, agentId)
      if (session.state.kind === 'live') await failSession(context, { agentId, session }, reason)
    },
    forget: async (agentId) => {
      await closeSession(context, agentId, 'its agent was deleted')
      await context.containers.removeProfile(agentId)
      context.sessions.delete(agentId)
    },
  }
}

async function useSession<T>(
  context: SessionsContext,
  { agentId, signal }: { readonly agentId: string; readonly signal: AbortSignal },
  work: (service: BrowserService) => Promise<T>,
): Promise<T> {
  const session = await liveSession(context, agentId, signal)
  const { service } = session
  if (service === null)
    throw new Problem('browser-unavailable', { detail: 'the browser was closed while the request waited' })
  session.acting++
  try {
    return await work(service)
  } finally {
    session.acting--
    session.usedAt = context.clock.now()
  }
}

function showPage(context: SessionsContext, agentId: string, page: ShownPage): void {
  const session = heldSession(context, agentId)
  const { page: before } = session
  session.page = page
  if (before.url === page.url && before.title === page.title) return
  const { url, title, host } = page
  context.events.publish({ type: 'browser.page', agent_id: agentId, url, title, host })
}

function watchSession(context: SessionsContext, agentId: string): () => void {
  const session = heldSession(context, agentId)
  session.watchers++
  let isWatching = true
  return () => {
    if (!isWatching) return
    isWatching = false
    session.watchers--
    session.usedAt = context.clock.now()
    session.watchedAt = context.clock.now()
  }
}
