import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'
import type { LeaseRecords, SeenRecord } from './lease-records.ts'
import { askMaxMs, leaseMs, pollEveryMs } from './lease-times.ts'

/**
 * How often a process tries again to take a lease after a write conflict; more conflicts are reported as an error.
 */
const attemptsMax = 5

export interface LeaseAsker {
  readonly records: LeaseRecords
  /**
   * The name of this process: the same for all processes of one home on one machine, of which the home's lock admits
   * one.
   */
  readonly holder: string
  readonly clock: Pick<Clock, 'sleep'>
  /** Milliseconds of a monotonic clock that continues during suspend. */
  readonly steadyMs: () => number
  readonly progress: (step: string) => void
  readonly signal: AbortSignal
}

export interface LeaseTaker extends LeaseAsker {
  /** The highest epoch that wrote to the ledger: a deleted record must not restart below it. */
  readonly epochSeen: number
}

export interface TakenLease {
  readonly record: SeenRecord
  /** The time from which the lease counts: before the request was sent. */
  readonly requestedAtMs: number
}

/**
 * Takes the lease once no other process can hold it: it is free, an earlier process of the same holder had it, or its
 * record did not change for `leaseMs`. Throws the Problem `home-in-use` as soon as another process renews it.
 */
export async function takeLease(taker: LeaseTaker): Promise<TakenLease> {
  const { records, holder, epochSeen, steadyMs, signal } = taker
  let seen = await records.read(boundedBy(signal))
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    seen = await whenFree(taker, seen)
    const requestedAtMs = steadyMs()
    const epoch = Math.max(seen?.epoch ?? 0, epochSeen) + 1
    const record = await records.write({ holder, epoch }, seen?.version ?? null, boundedBy(signal))
    if (record !== null) return { record, requestedAtMs }
    seen = await records.read(boundedBy(signal))
  }
  throw inUse(seen?.holder ?? 'several machines')
}

/**
 * Resolves once no other process can hold the lease, without taking it: for callers that delete the home. Throws like
 * `takeLease`.
 */
export async function requireFreeLease(asker: LeaseAsker): Promise<void> {
  await whenFree(asker, await asker.records.read(boundedBy(asker.signal)))
}

/** Returns the record that may be replaced: `seen`, which was just read, or a later one. */
async function whenFree(asker: LeaseAsker, seen: SeenRecord | null): Promise<SeenRecord | null> {
  const { records, holder, clock, steadyMs, signal } = asker
  const sinceMs = steadyMs()
  const other = otherHolder(seen, holder)
  if (other === null) return seen
  asker.progress(waitWords(other))
  while (steadyMs() - sinceMs < leaseMs) {
    await clock.sleep(pollEveryMs, signal)
    const now = await records.read(boundedBy(signal))
    if (now?.version === seen?.version) continue
    const another = otherHolder(now, holder)
    if (another !== null) throw inUse(another)
    return now
  }
  return seen
}

/** The other holder; null if the lease may be taken. Pure. */
function otherHolder(seen: SeenRecord | null, holder: string): string | null {
  return seen === null || seen.holder === holder ? null : seen.holder
}

function waitWords(holder: string): string {
  return `Waiting until the lease of the mesh on ${holder} expires (${leaseMs / 1_000} s after its last renewal)`
}

function inUse(holder: string): Problem {
  return new Problem('home-in-use', {
    detail: `a mesh on another machine uses this home: ${holder} has the lease`,
    repair:
      'Stop that mesh with flotilla stop on its machine, which ends the lease at once. If the mesh was killed, wait a minute until the lease expires.',
  })
}

/** Limits one request to `askMaxMs`. */
export function boundedBy(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(askMaxMs)])
}
