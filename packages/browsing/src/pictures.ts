import type { Clock } from '@flotilla/protocol/clock'
import { imageTypeOf } from '@flotilla/protocol/image-type'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { BrowserService } from './browser-service.ts'
import type { BrowserSessions } from './sessions.ts'

/** How long requests share one picture of a browser, in milliseconds. */
const sharedMs = 2000
/** The time limit for taking a picture of a browser for people who watch, in milliseconds. */
const takeWithinMs = 10_000

export interface SeenPicture {
  /** The media type of a picture, of a kind that web browsers display without running scripts. */
  readonly type: string
  readonly content: Uint8Array
}

interface Taken {
  readonly picture: Promise<SeenPicture>
  /** Until when requests share this picture, in milliseconds since 1970; infinite while it is being taken. */
  sharedUntil: number
}

/**
 * Returns a function that takes a picture of a browser's page, for callers that may view the fleet.
 * A picture counts neither as watching nor as use: an open dashboard page keeps no browser open
 * (lesson 119). Problems `denied`, `unknown-agent`, `not-found` without a page, `upstream-failed`,
 * `upstream-timeout`.
 */
export function createPictures(deps: {
  readonly sessions: Pick<BrowserSessions, 'of'>
  readonly guard: Guard
  readonly requireAgent: (agentId: string) => void
  readonly clock: Clock
}): (caller: Caller, agentId: string) => Promise<SeenPicture> {
  const { sessions, guard, requireAgent, clock } = deps
  /** The newest picture of each open browser. */
  const taken = new WeakMap<BrowserService, Taken>()

  async function take(service: BrowserService): Promise<SeenPicture> {
    const content = await service.picture(AbortSignal.timeout(takeWithinMs))
    if (content === null)
      throw new Problem('not-found', { detail: 'the browser returned no picture; try again' })
    const type = imageTypeOf(content)
    if (type !== null) return { type, content }
    throw new Problem('upstream-failed', { detail: 'the browser’s reply is not a valid picture' })
  }

  return async (caller, agentId) => {
    guard(caller, { do: 'view-fleet' })
    requireAgent(agentId)
    const { service } = sessions.of(agentId)
    if (service === null)
      throw new Problem('not-found', {
        detail: `the browser of ${agentId} is not open, so there is no picture of it`,
      })
    const last = taken.get(service)
    if (last !== undefined && clock.now() < last.sharedUntil) return last.picture
    const next: Taken = { picture: take(service), sharedUntil: Number.POSITIVE_INFINITY }
    taken.set(service, next)
    const settled = (): void => {
      next.sharedUntil = clock.now() + sharedMs
    }
    next.picture.then(settled, settled)
    return next.picture
  }
}
