import { chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { browserTokenFile } from '@flotilla/protocol/browser-service-api'
import { Problem } from '@flotilla/protocol/problem'
import { rootOf } from '@flotilla/identity/events'
import { reasonOf } from '@flotilla/fleet/sandbox'
import type { BrowserContainers } from '@flotilla/fleet/sandbox'
import type { BrowserService } from './browser-service.ts'
import { failSession } from './close-session.ts'
import { briefFolderOf, heldSession, moveSession, requirePlace } from './held-sessions.ts'
import type { HeldSession, SessionsContext } from './held-sessions.ts'

/** The time from the start of a container to its first answer (filter, display, program), in milliseconds. */
const answerWithinMs = 30_000
/** The pause between two checks whether a started browser answers, in milliseconds. */
const answerPollMs = 100
/**
 * How long a caller waits for a browser to start, in milliseconds. The first browser on a machine
 * takes minutes; it continues to start after this time.
 */
const openWaitMs = 60_000

/** Returns an agent's live session, opened if necessary. Problems `browsers-full`, `browser-unavailable`. */
export async function liveSession(
  context: SessionsContext,
  agentId: string,
  signal: AbortSignal,
): Promise<HeldSession> {
  requireAllowed(context, agentId)
  const { moving, state: before } = heldSession(context, agentId)
  if (moving !== null && before.kind !== 'opening') {
    await moving
    requireAllowed(context, agentId)
  }
  const session = heldSession(context, agentId)
  if (session.state.kind === 'live') return session
  const opening = session.moving ?? openSession(context, agentId, session)
  const late = new AbortController()
  const wait = context.clock.sleep(openWaitMs, AbortSignal.any([late.signal, signal])).catch(() => undefined)
  await Promise.race([opening, wait])
  late.abort()
  signal.throwIfAborted()
  const { state } = heldSession(context, agentId)
  if (state.kind === 'live') return session
  if (state.kind === 'failed') {
    throw new Problem('browser-unavailable', { detail: `the browser failed to start: ${state.reason}` })
  }
  throw new Problem('browser-unavailable', {
    detail: 'the browser is still starting; the first browser on a machine takes minutes',
    retryAfterSeconds: 60,
  })
}

/** Throws Problem `browser-unavailable` if the agent may not use a browser. Called again after each wait. */
function requireAllowed({ withheld }: SessionsContext, agentId: string): void {
  const why = withheld(agentId)
  if (why !== null)
    throw new Problem('browser-unavailable', { detail: `the agent may not use a browser: ${why}` })
}

/** Opens the browser of a session. A failure is stored as the session's state. */
function openSession(context: SessionsContext, agentId: string, session: HeldSession): Promise<void> {
  requirePlace(context.sessions, agentId, {
    max: context.maxLive(),
    rootOf: (id) => rootOf(context.identityEvents, id),
  })
  moveSession(context, session, { kind: 'open' })
  const opening = comeUp(context, agentId, session).finally(() => {
    // If the session was closed during its start, the closing operation owns `moving`.
    if (session.moving === opening) session.moving = null
  })
  session.moving = opening
  return opening
}

async function comeUp(context: SessionsContext, agentId: string, session: HeldSession): Promise<void> {
  const { clock, journal, events } = context
  try {
    const service = await bringUp(context, agentId)
    // If the session was closed while it opened, the closing operation removes the container.
    if (!moveSession(context, session, { kind: 'opened' })) return
    session.service = service
    session.usedAt = clock.now()
    session.watchedAt = clock.now()
    journal.append({ actor: `agent:${agentId}`, action: 'browser.opened', subject: agentId, detail: {} })
    events.publish({ type: 'browser.opened', agent_id: agentId })
  } catch (error) {
    await failSession(context, { agentId, session }, reasonOf(error).split('\n')[0] ?? '')
    context.log.warn({ agentId, err: error }, 'failed to start a browser; the next use retries')
  }
}

async function bringUp(context: SessionsContext, agentId: string): Promise<BrowserService> {
  // The engine mounts the folder, and the browser's user reads it. The parent folder's mode keeps
  // out other users of the host.
  await mkdir(context.briefsFolder, { recursive: true, mode: 0o700 })
  const folder = briefFolderOf(context.briefsFolder, agentId)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder)
  await chmod(folder, 0o755)
  const proxy = await context.openProxy()
  requireAllowed(context, agentId)
  const file = join(folder, browserTokenFile)
  await writeFile(file, context.tokens.issue(agentId))
  await chmod(file, 0o444)
  const address = await context.containers.start({
    agentId,
    meshPublicKey: context.publicKeyBase64url,
    proxyPort: proxy.port,
    briefingDirectory: folder,
    profileLimitBytes: context.profileLimitBytes(),
  })
  const service = context.openService(agentId, address)
  await untilReady(context, agentId, service)
  await rm(file)
  // If the isolation is in doubt by now, this call tests it again before the agent can use the browser.
  await context.openProxy()
  requireAllowed(context, agentId)
  return service
}

async function untilReady(
  { clock, containers }: SessionsContext,
  agentId: string,
  service: BrowserService,
): Promise<void> {
  const end = clock.now() + answerWithinMs
  for (;;) {
    const status = await service.status(AbortSignal.timeout(answerWithinMs)).catch(() => null)
    if (status?.ready) return
    const container = await containers.inspect(agentId)
    if (container?.running !== true) throw new Error(endOf(container))
    if (clock.now() >= end) throw new Error(`the browser did not answer within ${answerWithinMs / 1000} s`)
    await clock.sleep(answerPollMs)
  }
}

/** Returns the reason why a container ended, as text. Pure. */
export function endOf(container: Awaited<ReturnType<BrowserContainers['inspect']>>): string {
  const exit = container?.exit
  if (exit === undefined) return 'the container of the browser no longer exists'
  if (exit.outOfMemory) return 'the container of the browser ran out of memory'
  return `the container of the browser ended with exit code ${exit.code}${exit.lastWords === '' ? '' : `: ${exit.lastWords}`}`
}
