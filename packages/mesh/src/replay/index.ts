import { replayAgentApi, replayApi, replayEndpoints } from '@flotilla/protocol/replay-api'
import { replayAgentEndpoints } from '@flotilla/protocol/replay-endpoints'
import type { RequireModel } from '../agents/index.ts'
import type { Settings } from '../config/index.ts'
import type { Vault } from '../credentials/index.ts'
import type { Kernel, MeshModule } from '../kernel/index.ts'
import type { Runs } from '../runs/index.ts'
import { createExchangeTable } from './exchange-table.ts'
import type { ExchangeTable } from './exchange-table.ts'
import { createPlayRuns } from './play-runs.ts'
import { createRunRecorder } from './record-runs.ts'
import type { RunRecorder } from './record-runs.ts'
import { createReplayTable } from './replay-table.ts'

export interface RunRecords {
  readonly exchanges: ExchangeTable
  readonly recorder: RunRecorder
}

/** The record of runs, before there are models whose answers it keeps. */
export function runRecords(
  kernel: Kernel & { readonly settings: () => Settings },
  needs: { readonly vault: Vault },
): RunRecords {
  const exchanges = createExchangeTable(kernel.database)
  return { exchanges, recorder: createRunRecorder({ ...kernel, ...needs, table: exchanges }) }
}

/** Runs looked at step by step, played again, and gone on with by another model. */
export function replayModule(
  kernel: Kernel,
  needs: {
    readonly records: RunRecords
    readonly runs: Pick<Runs, 'queries' | 'queue'>
    readonly requireModel: RequireModel
  },
): MeshModule<Pick<ReturnType<typeof createPlayRuns>, 'standIn'>> {
  const { records } = needs
  const { queries, queue } = needs.runs
  const play = createPlayRuns(
    { kernel, ...records, replays: createReplayTable(kernel.database) },
    { runs: { ...queries, ...queue }, requireModel: needs.requireModel },
  )
  kernel.hooks.runSettled.subscribe(({ id }) => records.recorder.forget(id))
  return {
    api: play,
    routes: {
      people: ({ bind }) => {
        bind(replayEndpoints.runRecord, replayApi.runRecord, ({ caller, params }) =>
          play.record(caller, params.id),
        )
        bind(replayEndpoints.runReplay, replayApi.runReplay, async ({ caller, params, body }) => {
          const { run, turns } = await play.replay(caller, params.id, body.turn)
          return { run: queries.view(run), turns }
        })
        bind(replayEndpoints.runFork, replayApi.runFork, async ({ caller, params, body }) => {
          const { model, step, max_usd: maxUsd = null } = body
          return { run: queries.view(await play.fork(caller, params.id, { model, step, maxUsd })) }
        })
        bind(replayEndpoints.runComparison, replayApi.runComparison, ({ caller, params }) =>
          play.compare(caller, params.id),
        )
      },
      agent: ({ bind }) => {
        bind(replayAgentEndpoints.recordedCall, replayAgentApi.recordedCall, ({ caller, body }) =>
          play.recordedCall(caller.run?.runId ?? null, body.call_id),
        )
        bind(replayAgentEndpoints.recordedHistory, replayAgentApi.recordedHistory, ({ caller }) =>
          play.history(caller.run?.runId ?? null),
        )
      },
    },
    start: records.recorder.recover,
    maintain: records.recorder.maintain,
    close: records.recorder.written,
  }
}
