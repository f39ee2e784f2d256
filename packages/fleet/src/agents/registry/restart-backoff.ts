import { backoffMs } from '@flotilla/protocol/backoff'

/** Decides when an agent whose sandbox was lost is restarted. Pure; all times in milliseconds. */

const restartBackoff = { firstMs: 30_000, maxMs: 600_000 } as const
const hourMs = 3600_000
/** Interval between two trial starts of an agent in quarantine. */
const trialPauseMs = 1_200_000

/** How many times of earlier restarts are kept; older ones do not change the decision. */
export const restartsKept = 16

export interface Losses {
  /** Times of the restarts since the agent was last healthy, in order. */
  readonly restarts: readonly number[]
  /** When the agent entered the quarantine that it has not recovered from, or null. */
  readonly quarantinedAt: number | null
}

/**
 * A lost agent is restarted after 30 s, doubled for each restart within the last hour, up to 10 minutes. After too
 * many restarts within an hour it goes into quarantine, where the mesh tries a start every 20 minutes. A further loss
 * before the agent is healthy again puts it back into quarantine at once.
 */
export function judgeLoss(
  { restarts, quarantinedAt }: Losses,
  { at, restartsPerHour }: { readonly at: number; readonly restartsPerHour: number },
): { readonly kind: 'lose' | 'quarantine'; readonly dueAt: number } {
  const recent = restarts.filter((restart) => restart > at - hourMs).length
  if (quarantinedAt !== null || recent >= restartsPerHour) {
    return { kind: 'quarantine', dueAt: at + trialPauseMs }
  }
  return { kind: 'lose', dueAt: at + backoffMs(restartBackoff, recent + 1) }
}
