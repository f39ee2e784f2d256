import type { LeaseRecord, LeaseRecords, SeenRecord } from './lease-records.ts'

export interface FakeLeaseRecords extends LeaseRecords {
  /** After `answers(false)` the place does not respond, until `answers(true)` is called. */
  answers(now: boolean): void
  /** Carries out the next write but loses its answer. */
  loseNextAnswer(): void
  /** Replaces the record, as a client with full access could. */
  overwrite(record: LeaseRecord | null): void
  current(): SeenRecord | null
}

/** ADAPTER of `lease-records.ts` in memory, for tests: its clients share this object. */
export function createFakeLeaseRecords(): FakeLeaseRecords {
  let record: SeenRecord | null = null
  let version = 0
  let isThere = true
  let isLost = false

  const put = (next: LeaseRecord): SeenRecord => {
    version += 1
    record = { ...next, version: String(version) }
    return record
  }
  const ask = async (signal: AbortSignal): Promise<void> => {
    await Promise.resolve()
    signal.throwIfAborted()
    if (!isThere) throw new Error('the place of leases does not answer')
  }

  return {
    async read(signal) {
      await ask(signal)
      return record
    },
    async write(next, over, signal) {
      await ask(signal)
      if ((record?.version ?? null) !== over) return null
      const seen = put(next)
      if (!isLost) return seen
      isLost = false
      throw new Error('the answer was lost')
    },
    answers: (now) => {
      isThere = now
    },
    loseNextAnswer: () => {
      isLost = true
    },
    overwrite: (next) => {
      if (next === null) record = null
      else put(next)
    },
    current: () => record,
  }
}
