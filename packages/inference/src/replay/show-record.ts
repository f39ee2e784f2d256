import { Problem } from '@flotilla/protocol/problem'
import type { Comparison, RunRecordView } from '@flotilla/protocol/replay-api'
import type { Caller } from '@flotilla/identity/access'
import { compareRuns, isSameRun } from './compare-runs.ts'
import { shownRecords } from './keep-records.ts'
import type { RecordedRun } from './read-record.ts'
import { recordOf, requireRecord } from './replay-context.ts'
import type { ReplayContext } from './replay-context.ts'
import type { Replay } from './replay-table.ts'

/** Returns a run step by step, as it was recorded. Problems `denied`, `not-found`. */
export async function showRecord(
  context: ReplayContext,
  caller: Caller,
  runId: string,
): Promise<RunRecordView> {
  const { run, record } = await requireRecord(context, caller, runId)
  return {
    run_id: run.id,
    agent_id: run.agentId,
    cut: context.exchanges.cutOf(runId),
    ...shownSteps(record),
  }
}

/** Returns the differences between a replay or fork and the run that it repeats. Problems `denied`, `not-found`. */
export async function compareReplay(
  context: ReplayContext,
  caller: Caller,
  runId: string,
): Promise<Comparison> {
  context.kernel.guard(caller, { do: 'view-fleet' })
  const run = context.runs.find(runId)
  const replay = context.replays.find(runId)
  if (!run || !replay) throw new Problem('not-found', { detail: `run ${runId} is not a replay or a fork` })
  const [record, again] = await shownRecords(
    [await recordOf(context, replay.ofRun), await recordOf(context, runId)],
    context.recorder.cleaner,
  )
  const first = { record, outcome: context.runs.find(replay.ofRun)?.outcome ?? null }
  const differences = compareRuns(replay, first, { record: again, outcome: run.outcome })
  return comparisonOf(replay, { record, again, differences })
}

/** Pure. */
export function shownSteps(record: RecordedRun): Pick<RunRecordView, 'turns' | 'beside' | 'steps'> {
  return {
    turns: record.turns.map(({ asked }, index) => ({ turn: index + 1, asked })),
    beside: record.beside,
    steps: record.steps.map(({ at, exchange, results }) => ({
      step: at + 1,
      turn: record.turns.findIndex(({ from, to }) => at >= from && at < to) + 1,
      at: exchange.at,
      model: exchange.model,
      text: exchange.answer.content,
      calls: exchange.answer.calls.map((call, index) => ({
        tool: call.name,
        arguments: call.arguments,
        result: results[index] ?? null,
      })),
    })),
  }
}

/** Pure. */
function comparisonOf(
  replay: Replay,
  {
    record,
    again,
    differences,
  }: {
    readonly record: RecordedRun
    readonly again: RecordedRun
    readonly differences: ReturnType<typeof compareRuns>
  },
): Comparison {
  return {
    run_id: replay.runId,
    of_run: replay.ofRun,
    kind: replay.until === null ? 'replay' : 'fork',
    model: replay.model,
    turn: replay.turn + 1,
    turns: record.turns.length,
    steps: again.steps.length,
    calls: again.steps.reduce((sum, { results }) => sum + results.length, 0),
    same: isSameRun(differences),
    differences: [...differences],
  }
}
