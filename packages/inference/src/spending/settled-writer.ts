import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '@flotilla/foundation/platform'
import { storageFaultOf } from '@flotilla/foundation/storage'
import type { GroupedCommit } from '@flotilla/foundation/storage'
import type { Holds } from './holds.ts'
import type { SettledCall } from './write-settled.ts'

/** A commit takes a fifth of a millisecond and blocks all other work, so finished calls are written in rounds. */
const writeEveryMs = 50
/** The number of finished calls that are written at once, without waiting for the next round. */
const endedMax = 1000
/** The wait after a round that the disk refused, in milliseconds. */
const refusedEveryMs = 1000
/** The most finished calls that wait for a failing disk; the next start books all others in full. */
const keptMax = 10_000

/**
 * Writes finished calls in rounds. A call that the disk refuses is written again in a later round. Any other call
 * that cannot be written stays reserved in the table, and the next start books it in full.
 */
export interface SettledWriter {
  add(call: SettledCall): void
  /** Writes the calls that wait. */
  writeNow(): void
  /** Writes the calls that wait, and returns all unused money of holds. */
  giveBack(): void
}

export function createSettledWriter(deps: {
  readonly grouped: GroupedCommit
  readonly holds: Pick<Holds, 'haveUnused' | 'rebalance' | 'giveBack'>
  /** Runs inside a transaction. */
  readonly writeBatch: (batch: readonly SettledCall[]) => void
  readonly clock: Pick<Clock, 'sleep'>
  readonly log: Log
  /** An abort ends the wait between two rounds; `giveBack` is called after the abort. */
  readonly stopped?: AbortSignal
}): SettledWriter {
  const { grouped, holds, writeBatch, clock, log, stopped } = deps
  let ended: SettledCall[] = []
  let isWriting = false
  let isRefused = false

  async function keepWriting(): Promise<void> {
    isWriting = true
    try {
      while (ended.length > 0 || holds.haveUnused()) {
        await clock.sleep(isRefused ? refusedEveryMs : writeEveryMs, stopped)
        isRefused = false
        write(() => holds.rebalance())
        grouped.flush()
        // Lets the handlers of refused writes run: they put the calls back, to be written in the next round.
        await Promise.resolve()
      }
    } catch (error) {
      // `stopped` aborts the sleep; `giveBack` writes the rest.
      if (stopped?.aborted !== true)
        log.error({ err: error }, 'failed to write settled model calls; the next completed call retries')
    } finally {
      isWriting = false
    }
  }

  function write(andThen: () => void): void {
    const batch = ended
    ended = []
    grouped
      .add(() => writeBatch(batch))
      .catch((error: unknown) => {
        if (batch.length === 1 || storageFaultOf(error) !== null) return failed(error, batch)
        for (const one of batch) {
          grouped.add(() => writeBatch([one])).catch((cause: unknown) => failed(cause, [one]))
        }
      })
    grouped
      .add(andThen)
      .catch((error: unknown) =>
        log.error({ err: error }, 'failed to rebalance reservations; retrying in the next round'),
      )
  }

  function failed(error: unknown, calls: readonly SettledCall[]): void {
    const isKept = storageFaultOf(error) !== null && ended.length + calls.length <= keptMax
    if (isKept && stopped?.aborted !== true) {
      isRefused = true
      ended = [...calls, ...ended]
      if (!isWriting) void keepWriting()
      return
    }
    for (const _ of calls) {
      log.error(
        { err: error },
        'failed to write a model call; its reservation remains and the next start books it in full',
      )
    }
  }

  return {
    add(call) {
      ended.push(call)
      if (ended.length >= endedMax && !isRefused) write(() => {})
      if (!isWriting) void keepWriting()
    },
    writeNow() {
      if (ended.length > 0) write(() => {})
      grouped.flush()
    },
    giveBack() {
      write(() => holds.giveBack())
      grouped.flush()
    },
  }
}
