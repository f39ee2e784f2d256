import { replayAgentApi, replayApi, replayEndpoints } from '@flotilla/protocol/replay-api'
import { replayAgentEndpoints } from '@flotilla/protocol/replay-endpoints'
import type { RequireModel } from '@flotilla/fleet/agents'
import type { Vault } from '@flotilla/egress/credentials'
import type { Kernel, MeshModule } from '@flotilla/identity/kernel'
import type { StandIn } from '../models/index.ts'
import type { Runs } from '@flotilla/work/runs'
import { createExchangeTable } from './exchange-table.ts'
import type { ExchangeTable } from './exchange-table.ts'
import { createRecordReader } from './keep-records.ts'
import { createRunRecorder } from './record-runs.ts'
import type { RunRecorder } from './record-runs.ts'
import { recordedCall, recordedHistory } from './recorded-answers.ts'
import type { ReplayContext } from './replay-context.ts'
import { createReplayTable } from './replay-table.ts'
import { compareReplay, showRecord } from './show-record.ts'
import { createStandIn } from './stand-in.ts'
import { startFork, startReplay } from './start-replay.ts'
import type { InferenceKernel } from '../events/index.ts'

export interface RunRecords {
  readonly exchanges: ExchangeTable
  readonly recorder: RunRecorder
}

/** Creates the record of runs; called before the models exist whose answers it records. */
export function runRecords(kernel: Kernel, needs: { readonly vault: Vault }): RunRecords {
  const exchanges = createExchangeTable(kernel.database)
  return { exchanges, recorder: createRunRecorder({ ...kernel, ...needs, table: exchanges }) }
}

/** Inspects runs step by step, replays them, and continues them with another model. */
export function replayModule(
  kernel: InferenceKernel,
  needs: {
    readonly records: RunRecords
    readonly runs: Pick<Runs, 'queries' | 'queue'>
    readonly requireModel: RequireModel
  },
): MeshModule<{ readonly standIn: StandIn }> {
  const { records } = needs
  const { queries, queue } = needs.runs
  const context: ReplayContext = {
    kernel,
    ...records,
    replays: createReplayTable(kernel.database),
    readRecord: createRecordReader(records.exchanges),
    runs: { ...queries, ...queue },
    requireModel: needs.requireModel,
  }
  kernel.workEvents.runSettled.subscribe(({ id }) => records.recorder.forget(id))
  return {
    api: { standIn: createStandIn(context) },
    routes: {
      people: ({ bind }) => {
        bind(replayEndpoints.runRecord, replayApi.runRecord, ({ caller, params }) =>
          showRecord(context, caller, params.id),
        )
        bind(replayEndpoints.runReplay, replayApi.runReplay, async ({ caller, params, body }) => {
          const { run, turns } = await startReplay(context, caller, { runId: params.id, turn: body.turn })
          return { run: queries.view(run), turns }
        })
        bind(replayEndpoints.runFork, replayApi.runFork, async ({ caller, params, body }) => {
          const { model, step, max_usd: maxUsd = null } = body
          const run = await startFork(context, caller, { runId: params.id, model, step, maxUsd })
          return { run: queries.view(run) }
        })
        bind(replayEndpoints.runComparison, replayApi.runComparison, ({ caller, params }) =>
          compareReplay(context, caller, params.id),
        )
      },
      agent: ({ bind }) => {
        bind(replayAgentEndpoints.recordedCall, replayAgentApi.recordedCall, ({ caller, body }) =>
          recordedCall(context, caller.run?.runId ?? null, body.call_id),
        )
        bind(replayAgentEndpoints.recordedHistory, replayAgentApi.recordedHistory, ({ caller }) =>
          recordedHistory(context, caller.run?.runId ?? null),
        )
      },
    },
    start: records.recorder.recover,
    maintain: records.recorder.maintain,
    close: records.recorder.written,
  }
}
