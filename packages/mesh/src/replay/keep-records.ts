import { cleaned } from './exchange.ts'
import type { ExchangeTable } from './exchange-table.ts'
import { readRecord } from './read-record.ts'
import type { RecordedRun } from './read-record.ts'

/** Records that are remembered as they were read; a replay asks for the same one at each step. */
const recordsMax = 4

/** What of a record is shown to people and agents: without what has become a secret since it was written. */
export function shownRecord(record: RecordedRun, clean: (words: string) => string): RecordedRun {
  const known = shownOf.get(record)
  if (known?.clean === clean) return known.shown
  const shown = cleanedRecord(record, clean)
  shownOf.set(record, { clean, shown })
  return shown
}

/** To clean a long record takes seconds, and is done once for as long as the same values are held. */
const shownOf = new WeakMap<
  RecordedRun,
  { readonly clean: (words: string) => string; readonly shown: RecordedRun }
>()

function cleanedRecord(record: RecordedRun, clean: (words: string) => string): RecordedRun {
  return {
    ...record,
    steps: record.steps.map((step) => ({
      ...step,
      exchange: { ...step.exchange, answer: cleaned(step.exchange.answer, clean) },
      results: step.results.map((result) => (result === null ? null : clean(result))),
    })),
    turns: record.turns.map((turn) => ({
      ...turn,
      asked: clean(turn.asked),
      history: turn.history.map((message) => cleaned(message, clean)),
    })),
  }
}

/** Reads the record of a run, and again only once there is more or less of it. */
export function createRecordReader(
  exchanges: Pick<ExchangeTable, 'of' | 'sizeOf'>,
): (runId: string) => RecordedRun {
  /** The one that was asked for last stands last. */
  const kept = new Map<string, { readonly mark: string; readonly record: RecordedRun }>()
  return (runId) => {
    const { number, bytes } = exchanges.sizeOf(runId)
    const mark = `${number} ${bytes}`
    const known = kept.get(runId)
    const record = known?.mark === mark ? known.record : readRecord(exchanges.of(runId))
    kept.delete(runId)
    kept.set(runId, { mark, record })
    if (kept.size > recordsMax) kept.delete(kept.keys().next().value ?? '')
    return record
  }
}
