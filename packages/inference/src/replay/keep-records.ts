import { Problem } from '@flotilla/protocol/problem'
import type { Exchange, KeptAnswer, KeptMessage } from './exchange.ts'
import { cleaned } from './exchange.ts'
import type { ExchangeTable } from './exchange-table.ts'
import { inOneGo } from '@flotilla/egress/credentials'
import { inPieces } from './in-pieces.ts'
import type { Clean, Pieces } from './in-pieces.ts'
import { readRecord } from './read-record.ts'
import type { RecordedRun } from './read-record.ts'

/** How many parsed records are cached; a replay requests the same one at each step. */
const recordsMax = 4
/** How often a record is cleaned again because credentials changed during the cleaning. */
const cleaningsMax = 5

/**
 * Records as people and agents may see them: without the values that are secrets at the time of the call. Problem
 * `conflict` if credentials keep changing during the cleaning.
 */
export async function shownRecords<const Records extends readonly RecordedRun[]>(
  records: Records,
  cleanerNow: () => Clean,
): Promise<{ readonly [At in keyof Records]: RecordedRun }> {
  for (let times = 0; times < cleaningsMax; times += 1) {
    const clean = cleanerNow()
    const shown = await Promise.all(records.map((record) => shownBy(record, clean)))
    if (cleanerNow() === clean) return shown as { readonly [At in keyof Records]: RecordedRun }
  }
  throw new Problem('conflict', {
    detail: 'credentials were changed repeatedly while the record was read; read the record again',
  })
}

/** Cleaning a long record takes seconds, so its result is cached until the set of secret values changes. */
const shownOf = new WeakMap<RecordedRun, { readonly clean: Clean; readonly shown: Promise<RecordedRun> }>()

function shownBy(record: RecordedRun, clean: Clean): Promise<RecordedRun> {
  const known = shownOf.get(record)
  if (known?.clean === clean) return known.shown
  const shown = inPieces(cleanedRecord(record, clean))
  shownOf.set(record, { clean, shown })
  shown.catch(() => {
    if (shownOf.get(record)?.shown === shown) shownOf.delete(record)
  })
  return shown
}

function* cleanedRecord(record: RecordedRun, clean: Clean): Pieces<RecordedRun> {
  /** Caches cleaned texts: a text occurs many times in a record, as a result and in the history of later turns. */
  const done = new Map<string, string>()
  function* learn(text: string): Pieces<void> {
    if (done.has(text)) return yield 1
    done.set(text, yield* clean(text))
    yield 1
  }
  function* learnSaid({ content, calls = [] }: KeptMessage | KeptAnswer): Pieces<void> {
    yield* learn(content)
    for (const call of calls) yield* learn(call.arguments)
  }
  const known = (text: string): string => done.get(text) ?? inOneGo(clean(text))

  const steps: RecordedRun['steps'][number][] = []
  for (const step of record.steps) {
    yield* learnSaid(step.exchange.answer)
    for (const result of step.results) if (result !== null) yield* learn(result)
    for (const text of step.said) yield* learn(text)
    steps.push({
      ...step,
      exchange: { ...step.exchange, answer: cleaned(step.exchange.answer, known) },
      results: step.results.map((result) => (result === null ? null : known(result))),
      said: step.said.map(known),
    })
  }
  const turns: RecordedRun['turns'][number][] = []
  for (const turn of record.turns) {
    yield* learn(turn.asked)
    for (const message of turn.history) yield* learnSaid(message)
    turns.push({
      ...turn,
      asked: known(turn.asked),
      history: turn.history.map((message) => cleaned(message, known)),
    })
  }
  return { ...record, steps, turns }
}

/** Reads the record of a run, and reads it again only after exchanges were added or dropped. */
export function createRecordReader(
  exchanges: Pick<ExchangeTable, 'of' | 'sizeOf'>,
): (runId: string) => Promise<RecordedRun> {
  /** Records in the order of their last request; the most recently requested record is last. */
  const kept = new Map<string, { readonly mark: string; readonly record: Promise<RecordedRun> }>()
  return (runId) => {
    const { number, bytes } = exchanges.sizeOf(runId)
    const mark = `${number} ${bytes}`
    const known = kept.get(runId)
    const record = known?.mark === mark ? known.record : inPieces(wholeRecord(exchanges.of(runId, number)))
    kept.delete(runId)
    kept.set(runId, { mark, record })
    record.catch(() => {
      if (kept.get(runId)?.record === record) kept.delete(runId)
    })
    if (kept.size > recordsMax) kept.delete(kept.keys().next().value ?? '')
    return record
  }
}

function* wholeRecord(
  exchanges: Iterable<{ readonly exchange: Exchange; readonly chars: number }>,
): Pieces<RecordedRun> {
  const whole: Exchange[] = []
  for (const { exchange, chars } of exchanges) {
    whole.push(exchange)
    yield chars
  }
  return yield* readRecord(whole)
}
