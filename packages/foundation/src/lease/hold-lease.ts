import type { Clock } from '@flotilla/protocol/clock'
import type { LeaseRecords } from './lease-records.ts'
import { askAgainMs, endsAfterMs, renewEveryMs } from './lease-times.ts'
import { boundedBy } from './take-lease.ts'
import type { TakenLease } from './take-lease.ts'

export interface HeldLease {
  readonly epoch: number
  /** False once another process may be about to take the lease. */
  mayWrite(): boolean
  /** Releases the lease, so that the next process need not wait. Idempotent; a lost request lets the lease expire. */
  release(): Promise<void>
}

export interface LeaseHolder {
  readonly records: LeaseRecords
  readonly holder: string
  readonly clock: Pick<Clock, 'sleep'>
  readonly steadyMs: () => number
  /** Called with the new end each time that the lease is extended. */
  readonly onUntil: (untilMs: number) => void
  /** Called once if the lease is lost without a release; the listener ends the process. */
  readonly onLost: (why: string) => void
}

/**
 * Renews a lease until it is released or lost.
 *
 * - H1 Its time counts from before each request, never from the reply, which may be late.
 * - H2 After a refused write the record is read: if it is still ours, only a reply was lost; else the lease is lost
 *   at once.
 * - H3 A lost lease is never held again.
 */
export function holdLease(holding: LeaseHolder, taken: TakenLease): HeldLease {
  const { records, holder, clock, steadyMs } = holding
  const { epoch } = taken.record
  const ending = new AbortController()
  let { version } = taken.record
  let untilMs = taken.requestedAtMs + endsAfterMs
  let lost = false
  holding.onUntil(untilMs)

  function lose(why: string): void {
    if (lost || ending.signal.aborted) return
    lost = true // H3
    holding.onLost(why)
  }

  /** True if the lease was granted. */
  async function renewOnce(): Promise<boolean> {
    const requestedAtMs = steadyMs() // H1
    const renewed = await records.write({ holder, epoch }, version, boundedBy(ending.signal))
    if (renewed !== null) {
      version = renewed.version
      untilMs = requestedAtMs + endsAfterMs
      holding.onUntil(untilMs)
      return true
    }
    const now = await records.read(boundedBy(ending.signal))
    if (now?.holder === holder && now.epoch === epoch) version = now.version // H2
    else
      lose(
        now === null
          ? 'the lease of this mesh was deleted'
          : `${now.holder ?? 'no process'} has the lease now`,
      )
    return false
  }

  async function run(): Promise<void> {
    let waitMs = renewEveryMs
    while (!ending.signal.aborted && !lost) {
      await clock.sleep(waitMs, ending.signal).catch(() => undefined)
      if (ending.signal.aborted) return
      if (steadyMs() >= untilMs)
        return lose(`the lease of this mesh could not be renewed for ${endsAfterMs / 1_000} s`)
      const renewed = await renewOnce().catch(() => false)
      waitMs = renewed ? renewEveryMs : askAgainMs
    }
  }

  /** A request that was aborted may have changed the version, so the record is read again. */
  async function giveBack(): Promise<void> {
    const { signal } = new AbortController()
    const free = { holder: null, epoch }
    if ((await records.write(free, version, boundedBy(signal))) !== null) return
    const now = await records.read(boundedBy(signal))
    if (now?.holder === holder && now.epoch === epoch)
      await records.write(free, now.version, boundedBy(signal))
  }

  const running = run()
  return {
    epoch,
    mayWrite: () => !lost && !ending.signal.aborted && steadyMs() < untilMs,
    async release() {
      if (lost || ending.signal.aborted) return
      ending.abort(new Error('the lease is given back'))
      await running
      await giveBack().catch(() => undefined)
    },
  }
}
