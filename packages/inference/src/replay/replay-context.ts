import { noSuchRun } from '@flotilla/protocol/not-found'
import { Problem } from '@flotilla/protocol/problem'
import { isTerminal } from '@flotilla/protocol/run'
import type { Caller } from '@flotilla/identity/access'
import type { RequireModel } from '@flotilla/fleet/agents'
import type { Kernel } from '@flotilla/identity/kernel'
import type { RunQueries, RunQueue, RunRecord } from '@flotilla/work/runs'
import type { ExchangeTable } from './exchange-table.ts'
import { shownRecords } from './keep-records.ts'
import type { RecordedRun } from './read-record.ts'
import type { RunRecorder } from './record-runs.ts'
import type { Replay, ReplayTable } from './replay-table.ts'

/** Dependencies of all use cases of records. */
export interface ReplayContext {
  readonly kernel: Pick<Kernel, 'guard' | 'database' | 'journal' | 'clock' | 'newId'>
  readonly exchanges: ExchangeTable
  readonly replays: ReplayTable
  readonly recorder: Pick<RunRecorder, 'wrap' | 'written' | 'cleaner'>
  /** Reads a record. `createRecordReader` makes this function, which caches what it read. */
  readonly readRecord: (runId: string) => Promise<RecordedRun>
  readonly runs: Pick<RunQueries, 'find'> & Pick<RunQueue, 'submitRun'>
  readonly requireModel: RequireModel
}

/** Returns the record as written, with everything received so far. For internal use: callers get `knownRecordOf`. */
export async function recordOf({ recorder, readRecord }: ReplayContext, runId: string): Promise<RecordedRun> {
  await recorder.written()
  return readRecord(runId)
}

/** Returns the record without values that became secret after it was written. */
export async function knownRecordOf(context: ReplayContext, runId: string): Promise<RecordedRun> {
  const [shown] = await shownRecords([await recordOf(context, runId)], context.recorder.cleaner)
  return shown
}

export interface RunWithRecord {
  readonly run: RunRecord
  readonly record: RecordedRun
}

/** Returns a recorded run. Problems `denied`, and `not-found` if no such run exists or nothing of it is recorded. */
export async function requireRecord(
  context: ReplayContext,
  caller: Caller,
  runId: string,
): Promise<RunWithRecord> {
  context.kernel.guard(caller, { do: 'view-fleet' })
  const run = context.runs.find(runId)
  if (!run) throw noSuchRun(runId)
  const record = await knownRecordOf(context, runId)
  if (record.steps.length === 0) {
    const why = context.exchanges.cutOf(runId) ?? 'the run called no model, or its record was deleted'
    throw new Problem('not-found', {
      detail: `run ${runId} has no record: ${why}; run_records in config/settings.json sets how long records are stored`,
    })
  }
  return { run, record }
}

/** Requires a run that can be replayed: ended, with a complete record. Problem `conflict` for any other run. */
export async function requireWholeRecord(
  context: ReplayContext,
  caller: Caller,
  runId: string,
): Promise<RunWithRecord> {
  // Checked first, so that a caller who may not submit runs does not learn which runs exist.
  context.kernel.guard(caller, { do: 'submit-run', to: context.runs.find(runId)?.agentId ?? '' })
  const found = await requireRecord(context, caller, runId)
  if (!isTerminal(found.run.state))
    throw new Problem('conflict', {
      detail: `run ${runId} is ${found.run.state}; wait until the run has ended, or cancel it with flotilla cancel ${runId}`,
    })
  const cut = context.exchanges.cutOf(runId)
  if (cut !== null)
    throw new Problem('conflict', { detail: `the record of run ${runId} is incomplete: ${cut}` })
  return found
}

/** Returns the replay of this run, with the record that it repeats; null if the run is no replay. */
export async function replayOf(
  context: ReplayContext,
  runId: string,
): Promise<{ readonly replay: Replay; readonly record: RecordedRun } | null> {
  const replay = context.replays.find(runId)
  return replay && { replay, record: await knownRecordOf(context, replay.ofRun) }
}
