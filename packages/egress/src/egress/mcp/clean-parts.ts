import type { Clock } from '@flotilla/protocol/clock'
import { createTurns } from '@flotilla/protocol/turns'
import type { Scrub } from '../../credentials/index.ts'
import type { LoopShare } from '@flotilla/foundation/intake'

/**
 * How many parts of all agents are searched at the same time, by the size of a part in characters. The search of a
 * part needs about 40 bytes a character, so this limits the memory. Parts wait only for parts of their own size, so
 * that large parts of some agents do not delay the smaller part of another.
 */
export const searchPlaces: readonly { readonly partMaxChars: number; readonly partsMax: number }[] = [
  { partMaxChars: 8 * 1024, partsMax: 64 },
  { partMaxChars: 128 * 1024, partsMax: 8 },
  { partMaxChars: 512 * 1024, partsMax: 2 },
  // Larger parts, up to the limit of an exchange.
  { partMaxChars: Infinity, partsMax: 1 },
]

/**
 * Removes the values of credentials from parts of answers, in steps that are charged to the share of the agent: one
 * part of an agent at a time, in turns of one step with the parts of other agents. An agent that has used up its
 * share waits until some is restored. Rejects with the signal's reason.
 */
export type CleanPart = (
  context: { readonly agentId: string; readonly scrub: Scrub; readonly signal: AbortSignal },
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
  const sizes = searchPlaces.map(({ partMaxChars, partsMax }) => ({
    partMaxChars,
    inPlace: createPlaces(partsMax),
  }))

  return ({ agentId, scrub, signal }, part) =>
    turnOfAgent.take([agentId], async () => {
      for (let wait = loop.waitMs(agentId); wait > 0; wait = loop.waitMs(agentId))
        await clock.sleep(wait, signal)
      const clean = async (): Promise<string> => {
        signal.throwIfAborted()
        return loop.inSteps(agentId, scrub.inSteps(part), 'finish')
      }
      const size = sizes.find(({ partMaxChars }) => part.length <= partMaxChars)
      return size === undefined ? clean() : size.inPlace(clean)
    })
}

/**
 * Runs at most `placesMax` pieces of work at the same time; the others wait in order. The callers limit how many
 * pieces wait.
 */
function createPlaces(placesMax: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let free = placesMax
  return async (work) => {
    if (free > 0) free--
    else await new Promise<void>((resolve) => void waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    }
  }
}
