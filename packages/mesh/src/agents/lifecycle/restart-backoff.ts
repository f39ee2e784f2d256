import { backoffMs } from '@flotilla/protocol/backoff'

/** Decides when an agent whose sandbox was lost is restarted. Pure; all times in milliseconds. */

const restartBackoff = { firstMs: 30_000, maxMs: 600_000 } as const
const hourMs = 3600_000
/** Between two trials of an agent in quarantine. */
const trialPauseMs = 1_200_000

/** Times of earlier restarts that are kept; more cannot matter to the rule. */
export const restartsKept = 16

export interface Losses {
  /** When it was started again since it was last well, in order. */
  readonly restarts: readonly number[]
  /** Since when it is in quarantine and was not well in between, or null. */
  readonly quarantinedAt: number | null
}

/**
 * A lost agent is restarted after 30 s, doubled for each restart within the last hour, up to 10 minutes. After too many
 * restarts within an hour it goes into quarantine, where it is tried every 20 minutes. Until it was healthy again,
 * another loss returns it there at once.
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
