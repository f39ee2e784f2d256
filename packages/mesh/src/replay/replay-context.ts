import { Problem } from '@flotilla/protocol/problem'
import { isTerminal } from '@flotilla/protocol/run'
import type { Caller } from '../access/index.ts'
import type { RequireModel } from '../agents/index.ts'
import type { Kernel } from '../kernel/index.ts'
import type { RunQueries, RunQueue, RunRecord } from '../runs/index.ts'
import type { ExchangeTable } from './exchange-table.ts'
import { shownRecords } from './keep-records.ts'
import type { RecordedRun } from './read-record.ts'
import type { RunRecorder } from './record-runs.ts'
import type { Replay, ReplayTable } from './replay-table.ts'

/** What every use of a record needs. */
export interface ReplayContext {
  readonly kernel: Pick<Kernel, 'guard' | 'database' | 'journal' | 'clock' | 'newId'>
  readonly exchanges: ExchangeTable
  readonly replays: ReplayTable
  readonly recorder: Pick<RunRecorder, 'wrap' | 'written' | 'cleaner'>
  /** Made by `createRecordReader`, which remembers what it read. */
  readonly readRecord: (runId: string) => Promise<RecordedRun>
  readonly runs: Pick<RunQueries, 'find'> & Pick<RunQueue, 'submitRun'>
  readonly requireModel: RequireModel
}

/** As it was written, with all that was said so far. For no eyes but our own: `knownRecordOf` is what is shown. */
export async function recordOf({ recorder, readRecord }: ReplayContext, runId: string): Promise<RecordedRun> {
  await recorder.written()
  return readRecord(runId)
}

/** Without values that have become secret since it was written, because it is read now. */
export async function knownRecordOf(context: ReplayContext, runId: string): Promise<RecordedRun> {
  const [shown] = await shownRecords([await recordOf(context, runId)], context.recorder.cleaner)
  return shown
}

export interface RunWithRecord {
  readonly run: RunRecord
  readonly record: RecordedRun
}

/** Problems `denied`, and `not-found` where there is no run, or nothing recorded of it. */
export async function requireRecord(
  context: ReplayContext,
  caller: Caller,
  runId: string,
): Promise<RunWithRecord> {
  context.kernel.guard(caller, { do: 'view-fleet' })
  const run = context.runs.find(runId)
  if (!run) throw new Problem('not-found', { detail: `there is no run ${runId}` })
  const record = await knownRecordOf(context, runId)
  if (record.steps.length === 0) {
    const why = context.exchanges.cutOf(runId) ?? 'it asked no model, or its record is no longer kept'
    throw new Problem('not-found', {
      detail: `nothing is recorded of run ${runId}: ${why}; run_records in config/settings.json says how long records are kept`,
    })
  }
  return { run, record }
}

/** Of a run that can be played: ended, and recorded as a whole. Problem `conflict` for every other. */
export async function requireWholeRecord(
  context: ReplayContext,
  caller: Caller,
  runId: string,
): Promise<RunWithRecord> {
  // First, so that a caller who may not give work does not learn which runs exist.
  context.kernel.guard(caller, { do: 'submit-run', to: context.runs.find(runId)?.agentId ?? '' })
  const found = await requireRecord(context, caller, runId)
  if (!isTerminal(found.run.state))
    throw new Problem('conflict', {
      detail: `run ${runId} is ${found.run.state}; wait for its end, or cancel it`,
    })
  const cut = context.exchanges.cutOf(runId)
  if (cut !== null)
    throw new Problem('conflict', { detail: `the record of run ${runId} is not whole: ${cut}` })
  return found
}

/** The replay that this run is, with what it repeats; null for every other run. */
export async function replayOf(
  context: ReplayContext,
  runId: string,
): Promise<{ readonly replay: Replay; readonly record: RecordedRun } | null> {
  const replay = context.replays.find(runId)
  return replay && { replay, record: await knownRecordOf(context, replay.ofRun) }
}
