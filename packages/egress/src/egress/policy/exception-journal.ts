import type { Clock } from '@flotilla/protocol/clock'
import type { Journal } from '@flotilla/foundation/journal'
import type { Destination } from './destination.ts'
import { textOf } from './destination.ts'

/**
 * The time in milliseconds within which uses of an opened place by one caller are recorded only once: a program may
 * connect a hundred times a second.
 */
export const exceptionWrittenEveryMs = 60_000
/** How many pairs of caller and place are remembered; above that all are forgotten, which only adds records. */
const rememberedMax = 1000

/** Records in the audit log that an agent, or the mesh itself, used a place that the owner opened. */
export function createExceptionJournal(deps: { readonly journal: Journal; readonly clock: Clock }) {
  const written = new Map<string, number>()
  return (actor: string, destination: Destination, address: string): void => {
    const place = textOf(destination)
    const key = `${actor} ${place} ${address}`
    const now = deps.clock.now()
    if (now - (written.get(key) ?? Number.NEGATIVE_INFINITY) < exceptionWrittenEveryMs) return
    if (written.size >= rememberedMax) written.clear()
    written.set(key, now)
    deps.journal.append({
      actor,
      action: 'egress.exception-used',
      subject: place,
      detail: { address },
    })
  }
}
