import { backoffMs } from '@flotilla/protocol/backoff'

/** Decides when an agent whose sandbox was lost is restarted. Pure; all times in milliseconds. */

const restartBackoff = { firstMs: 30_000, maxMs: 600_000 } as const
const hourMs = 3600_000
/** Interval between two trial starts of an agent in quarantine, milliseconds. */
const trialPauseMs = 1_200_000

/** How many of the earlier restarts' times are stored; older restarts do not change the decision. */
export const restartsKept = 16

export interface Losses {
  /** Times of the restarts since the agent was last healthy, oldest first, milliseconds since 1970. */
  readonly restarts: readonly number[]
  /** Start of the quarantine from which the agent has not recovered, milliseconds since 1970; null if none. */
  readonly quarantinedAt: number | null
}

/**
 * Decides about a lost agent. It is restarted after 30 s, doubled for each restart within the last hour, up to 10
 * minutes. After more than `restarts_per_hour` it goes into quarantine, where the mesh tries a start every 20
 * minutes. A loss before the agent is healthy again puts it back into quarantine at once.
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
