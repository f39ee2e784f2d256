import type { Clock } from '@flotilla/protocol/clock'
import type { Scrub } from '../../credentials/index.ts'
import type { LoopShare } from '../../intake/index.ts'

/** A larger part takes so much memory while it is searched that only one of all agents is searched at a time, characters. */
const smallPartMaxChars = 64 * 1024
const largeParts = Symbol('large parts')

/**
 * Takes the values of credentials out of the parts of answers, in steps on the share of the agent that asked: one part of
 * an agent at a time, and of large parts one of all agents. An agent that has used its share waits until some is back.
 * Rejects with the signal's reason.
 */
export type CleanPart = (
  asked: { readonly agentId: string; readonly scrub: Scrub; readonly signal: AbortSignal },
  part: string,
) => Promise<string>

export function createCleanPart({
  loop,
  clock,
}: {
  readonly loop: Pick<LoopShare, 'inSteps' | 'waitMs'>
  readonly clock: Clock
}): CleanPart {
  const lanes = new Map<string | symbol, Promise<unknown>>()

  function inLane<T>(lane: string | symbol, work: () => Promise<T>): Promise<T> {
    const before = lanes.get(lane) ?? Promise.resolve()
    const own = before.then(work, work)
    lanes.set(lane, own)
    const leave = (): void => {
      if (lanes.get(lane) === own) lanes.delete(lane)
    }
    own.then(leave, leave)
    return own
  }

  return ({ agentId, scrub, signal }, part) =>
    inLane(agentId, async () => {
      for (let wait = loop.waitMs(agentId); wait > 0; wait = loop.waitMs(agentId))
        await clock.sleep(wait, signal)
      const clean = (): Promise<string> => {
        signal.throwIfAborted()
        return loop.inSteps(agentId, scrub.inSteps(part), 'finish')
      }
      return part.length > smallPartMaxChars ? inLane(largeParts, async () => clean()) : clean()
    })
}
