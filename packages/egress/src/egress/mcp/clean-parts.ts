import type { Clock } from '@flotilla/protocol/clock'
import { createInTurn, createTurns } from '@flotilla/protocol/turns'
import type { Scrub } from '../../credentials/index.ts'
import type { LoopShare } from '@flotilla/foundation/intake'

/** Searching a larger part needs so much memory that only one is searched at a time for all agents, in characters. */
const smallPartMaxChars = 64 * 1024

/**
 * Removes the values of credentials from parts of answers, in steps that are charged to the share of the agent: one
 * part of an agent at a time, and one large part of all agents. An agent that has used up its share waits until some
 * is restored. Rejects with the signal's reason.
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
  const turnOfAgent = createTurns()
  const turnOfLargeParts = createInTurn()

  return ({ agentId, scrub, signal }, part) =>
    turnOfAgent.take([agentId], async () => {
      for (let wait = loop.waitMs(agentId); wait > 0; wait = loop.waitMs(agentId))
        await clock.sleep(wait, signal)
      const clean = (): Promise<string> => {
        signal.throwIfAborted()
        return loop.inSteps(agentId, scrub.inSteps(part), 'finish')
      }
      return part.length > smallPartMaxChars ? turnOfLargeParts(async () => clean()) : clean()
    })
}
