import { rm } from 'node:fs/promises'
import type { BrowserService } from './browser-service.ts'
import { briefFolderOf, heldSession, moveSession } from './held-sessions.ts'
import type { HeldSession, SessionsContext } from './held-sessions.ts'
import { noPage } from './shown-page.ts'

/** The time that Chromium has to save its tabs, in milliseconds. */
const closeWithinMs = 10_000
/** The maximum length of the reason for the end of a browser, in characters. */
const reasonMaxChars = 500

interface Owned {
  readonly agentId: string
  readonly session: HeldSession
}

/** Closes the browser once for all concurrent callers; resolves when its container is gone. */
export function closeSession(context: SessionsContext, agentId: string, reason: string): Promise<void> {
  const session = heldSession(context, agentId)
  if (session.state.kind === 'closing') return session.moving ?? Promise.resolve()
  const { service, moving: opening } = session
  if (!moveSession(context, session, { kind: 'close', reason })) return Promise.resolve()
  context.tokens.revoke(agentId)
  session.moving = goDown(context, { agentId, session }, { service, opening, reason })
  return session.moving
}

async function goDown(
  context: SessionsContext,
  { agentId, session }: Owned,
  {
    service,
    opening,
    reason,
  }: {
    readonly service: BrowserService | null
    readonly opening: Promise<void> | null
    readonly reason: string
  },
): Promise<void> {
  try {
    if (service !== null) {
      await service.close(AbortSignal.timeout(closeWithinMs)).catch((error: unknown) => {
        context.log.warn({ agentId, err: error }, 'a browser did not exit; removing its container')
      })
    }
    await opening
    await takeAway(context, { agentId, session })
  } finally {
    moveSession(context, session, { kind: 'closed' })
    session.moving = null
    context.journal.append({
      actor: 'system',
      action: 'browser.closed',
      subject: agentId,
      detail: { reason },
    })
    context.events.publish({ type: 'browser.closed', agent_id: agentId, reason })
    context.onGone(agentId)
  }
}

/** Handles a browser that failed to start or ended by itself. */
export async function failSession(
  context: SessionsContext,
  { agentId, session }: Owned,
  why: string,
): Promise<void> {
  const reason = why.slice(0, reasonMaxChars)
  await takeAway(context, { agentId, session })
  if (!moveSession(context, session, { kind: 'failed', reason })) return
  context.journal.append({ actor: 'system', action: 'browser.failed', subject: agentId, detail: { reason } })
  context.events.publish({ type: 'browser.failed', agent_id: agentId, reason })
  context.onGone(agentId)
}

async function takeAway(
  { tokens, containers, briefsFolder, log }: SessionsContext,
  { agentId, session }: Owned,
): Promise<void> {
  tokens.revoke(agentId)
  session.service = null
  session.page = noPage
  await containers.stop(agentId).catch((error: unknown) => {
    log.error({ agentId, err: error }, 'failed to remove the container of a browser; the next start retries')
  })
  await rm(briefFolderOf(briefsFolder, agentId), { recursive: true, force: true })
}
