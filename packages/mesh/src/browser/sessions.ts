import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { browserTokenFile } from '@flotilla/protocol/browser-service-api'
import type { Kernel } from '../kernel/index.ts'
import { Problem } from '@flotilla/protocol/problem'
import type { EventBus } from '../events/index.ts'
import { reasonOf } from '../sandbox/index.ts'
import type { BrowserContainers } from '../sandbox/index.ts'
import type { BrowserService, OpenBrowserService } from './browser-service.ts'
import type { BrowserTokens } from './browser-tokens.ts'
import { closedState, nextState, takesPlace } from './session-state.ts'
import type { SessionEvent, SessionState } from './session-state.ts'
import { noPage } from './shown-page.ts'
import type { ShownPage } from './shown-page.ts'

/** Between the start of a container and its first answer, milliseconds: a filter, a screen, a program. */
const answerWithinMs = 30_000
const answerPollMs = 100
/** So long whoever asked waits for a browser that comes up; the first of a machine takes minutes, and comes up all the same. */
const openWaitMs = 60_000
/** Chromium has so long to write its tabs down. */
const closeWithinMs = 10_000
const reasonMaxChars = 500

/** What is known of one agent's browser. */
export interface Session {
  readonly state: SessionState
  readonly service: BrowserService | null
  readonly page: ShownPage
  /** Actions under way, and people who look on. */
  readonly acting: number
  readonly watchers: number
  /** When it was last used or watched, milliseconds since 1970. */
  readonly usedAt: number
  /** When somebody last looked on; of one that nobody did, when it was opened. */
  readonly watchedAt: number
}

type HeldSession = { -readonly [Key in keyof Session]: Session[Key] } & { moving: Promise<void> | null }

export interface SessionsDeps extends Pick<Kernel, 'clock' | 'journal' | 'log'> {
  readonly containers: BrowserContainers
  readonly openService: OpenBrowserService
  readonly tokens: BrowserTokens
  /** Makes the one way out ready, where browsers are; its address. Asked before each start, and idempotent. */
  readonly openProxy: () => Promise<{ readonly port: number }>
  readonly publicKeyBase64url: string
  readonly briefsFolder: string
  readonly maxLive: () => number
  readonly profileLimitBytes: () => number
  readonly events: Pick<EventBus, 'publish'>
  /** Hears that one is gone: whoever waited for a person waits no more. */
  readonly onGone: (agentId: string) => void
}

/**
 * The browsers of agents, one of each at most.
 *
 * 1. One opens with its first use and takes a place until its container is gone; where all are taken, whoever comes is
 *    refused, and nobody's is closed for it (lesson 122).
 * 2. What opens or closes one does so once, and whoever comes meanwhile waits for it.
 * 3. Its token counts from before its container starts until it is to end, and no longer.
 */
export interface BrowserSessions {
  of(agentId: string): Session
  list(): readonly (readonly [string, Session])[]
  /** Works with the browser, opened where it is not. Problems `browsers-full`, `browser-unavailable`. */
  use<T>(agentId: string, signal: AbortSignal, work: (service: BrowserService) => Promise<T>): Promise<T>
  shows(agentId: string, page: ShownPage): void
  /** Somebody looks on until what this returns is called. */
  watch(agentId: string): () => void
  close(agentId: string, reason: string): Promise<void>
  /** Its container ended unasked. */
  lost(agentId: string, reason: string): Promise<void>
  /** Takes away what the browser kept of the agent, too. */
  forget(agentId: string): Promise<void>
}

export function createBrowserSessions(deps: SessionsDeps): BrowserSessions {
  const { containers, tokens, clock, journal, events } = deps
  const sessions = new Map<string, HeldSession>()
  const fresh: Session = {
    state: closedState,
    service: null,
    page: noPage,
    acting: 0,
    watchers: 0,
    usedAt: 0,
    watchedAt: 0,
  }

  function held(agentId: string): HeldSession {
    const session = sessions.get(agentId) ?? { ...fresh, moving: null }
    sessions.set(agentId, session)
    return session
  }

  function move(session: HeldSession, event: SessionEvent): boolean {
    const next = nextState(session.state, event, clock.now())
    if (next !== null) session.state = next
    return next !== null
  }

  const folderOf = (agentId: string) => join(deps.briefsFolder, Buffer.from(agentId, 'utf8').toString('hex'))

  async function bringUp(agentId: string): Promise<BrowserService> {
    // The engine mounts the folder; the browser's own user reads in it, and nobody else's comes this far on the host.
    await mkdir(deps.briefsFolder, { recursive: true, mode: 0o700 })
    const folder = folderOf(agentId)
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder)
    await chmod(folder, 0o755)
    const proxy = await deps.openProxy()
    const file = join(folder, browserTokenFile)
    await writeFile(file, tokens.issue(agentId))
    await chmod(file, 0o444)
    const address = await containers.start({
      agentId,
      meshPublicKey: deps.publicKeyBase64url,
      proxyPort: proxy.port,
      briefingDirectory: folder,
      profileLimitBytes: deps.profileLimitBytes(),
    })
    const service = deps.openService(agentId, address)
    await untilReady(agentId, service)
    await rm(file)
    // What was doubted meanwhile is tried again before the browser is given work.
    await deps.openProxy()
    return service
  }

  async function untilReady(agentId: string, service: BrowserService): Promise<void> {
    const end = clock.now() + answerWithinMs
    for (;;) {
      const status = await service.status(AbortSignal.timeout(answerWithinMs)).catch(() => null)
      if (status?.ready) return
      const container = await containers.inspect(agentId)
      if (container?.running !== true) throw new Error(endOf(container))
      if (clock.now() >= end) throw new Error(`it did not answer within ${answerWithinMs / 1000} s`)
      await clock.sleep(answerPollMs)
    }
  }

  function requirePlace(agentId: string): void {
    const live = [...sessions].filter(([id, { state }]) => id !== agentId && takesPlace(state))
    const max = deps.maxLive()
    if (live.length < max) return
    throw new Problem('browsers-full', {
      detail: `${live.length} of ${max} browsers are open, by ${live.map(([id]) => id).join(', ')}; none is closed for another`,
      retryAfterSeconds: 60,
    })
  }

  /** Begins to open it; what goes wrong is its state. */
  function open(agentId: string, session: HeldSession): Promise<void> {
    requirePlace(agentId)
    move(session, { kind: 'open' })
    session.moving = (async () => {
      try {
        const service = await bringUp(agentId)
        // Closed meanwhile; whoever closes it takes its container away.
        if (!move(session, { kind: 'opened' })) return
        session.service = service
        session.usedAt = clock.now()
        session.watchedAt = clock.now()
        journal.append({ actor: `agent:${agentId}`, action: 'browser.opened', subject: agentId, detail: {} })
        events.publish({ type: 'browser.opened', agent_id: agentId })
      } catch (error) {
        await fail(agentId, session, reasonOf(error).split('\n')[0] ?? '')
        deps.log.warn({ agentId, err: error }, 'a browser did not come up; the next use of it tries again')
      } finally {
        session.moving = null
      }
    })()
    return session.moving
  }

  async function fail(agentId: string, session: HeldSession, why: string): Promise<void> {
    const reason = why.slice(0, reasonMaxChars)
    await takeAway(agentId, session)
    if (!move(session, { kind: 'failed', reason })) return
    journal.append({ actor: 'system', action: 'browser.failed', subject: agentId, detail: { reason } })
    events.publish({ type: 'browser.failed', agent_id: agentId, reason })
    deps.onGone(agentId)
  }

  async function takeAway(agentId: string, session: HeldSession): Promise<void> {
    tokens.revoke(agentId)
    session.service = null
    session.page = noPage
    await containers.stop(agentId).catch((error: unknown) => {
      deps.log.error(
        { agentId, err: error },
        'the container of a browser was not removed; the next start tries',
      )
    })
    await rm(folderOf(agentId), { recursive: true, force: true })
  }

  async function settled(agentId: string, signal: AbortSignal): Promise<HeldSession> {
    const session = held(agentId)
    if (session.moving !== null && session.state.kind !== 'opening') await session.moving
    if (session.state.kind === 'live') return session
    const opening = session.moving ?? open(agentId, session)
    const late = new AbortController()
    const wait = clock.sleep(openWaitMs, AbortSignal.any([late.signal, signal])).catch(() => undefined)
    await Promise.race([opening, wait])
    late.abort()
    signal.throwIfAborted()
    const { state } = held(agentId)
    if (state.kind === 'live') return session
    if (state.kind === 'failed') {
      throw new Problem('browser-unavailable', { detail: `it did not come up: ${state.reason}` })
    }
    throw new Problem('browser-unavailable', {
      detail: 'it is still coming up; the first one on a machine takes minutes',
      retryAfterSeconds: 60,
    })
  }

  async function close(agentId: string, reason: string): Promise<void> {
    const session = held(agentId)
    const { service, state } = session
    if (state.kind === 'closing') return session.moving ?? undefined
    const opening = session.moving
    if (!move(session, { kind: 'close', reason })) return
    tokens.revoke(agentId)
    session.moving = (async () => {
      try {
        if (service !== null) {
          await service.close(AbortSignal.timeout(closeWithinMs)).catch((error: unknown) => {
            deps.log.warn(
              { agentId, err: error },
              'a browser did not end by itself; its container is removed',
            )
          })
        }
        await opening
        await takeAway(agentId, session)
      } finally {
        move(session, { kind: 'closed' })
        session.moving = null
        journal.append({ actor: 'system', action: 'browser.closed', subject: agentId, detail: { reason } })
        events.publish({ type: 'browser.closed', agent_id: agentId, reason })
        deps.onGone(agentId)
      }
    })()
    return session.moving
  }

  return {
    of: (agentId) => sessions.get(agentId) ?? fresh,
    list: () => [...sessions],
    use: async (agentId, signal, work) => {
      const session = await settled(agentId, signal)
      const { service } = session
      if (service === null) throw new Problem('browser-unavailable', { detail: 'it was closed meanwhile' })
      session.acting++
      try {
        return await work(service)
      } finally {
        session.acting--
        session.usedAt = clock.now()
      }
    },
    shows: (agentId, page) => {
      const session = held(agentId)
      const { page: before } = session
      session.page = page
      if (before.url === page.url && before.title === page.title) return
      const { url, title, host } = page
      events.publish({ type: 'browser.page', agent_id: agentId, url, title, host })
    },
    watch: (agentId) => {
      const session = held(agentId)
      session.watchers++
      let looksOn = true
      return () => {
        if (!looksOn) return
        looksOn = false
        session.watchers--
        session.usedAt = clock.now()
        session.watchedAt = clock.now()
      }
    },
    close,
    lost: async (agentId, reason) => {
      const session = held(agentId)
      if (session.state.kind === 'live') await fail(agentId, session, reason)
    },
    forget: async (agentId) => {
      await close(agentId, 'its agent was deleted')
      await containers.removeProfile(agentId)
      sessions.delete(agentId)
    },
  }
}

/** Why a container ended, in words. */
export function endOf(container: Awaited<ReturnType<BrowserContainers['inspect']>>): string {
  const exit = container?.exit
  if (exit === undefined) return 'its container is gone'
  if (exit.outOfMemory) return 'its container ran out of memory'
  return `its container ended with ${exit.code}${exit.lastWords === '' ? '' : `: ${exit.lastWords}`}`
}
