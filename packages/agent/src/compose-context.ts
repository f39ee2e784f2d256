import type { Clock } from '@flotilla/protocol/clock'
import { createContextKeeper } from './context/context-keeper.ts'
import type { ContextKeeper } from './context/context-keeper.ts'
import { createTokenCounter } from './context/count-tokens.ts'
import { hasOurTokenizer } from './context/estimate-tokens.ts'
import type { FactKeeper } from './context/fact-keeper.ts'
import { createModelFactStore } from './context/model-facts.ts'
import { createRecordRun } from './context/record-run.ts'
import type { RecordRun } from './context/record-run.ts'
import type { AgentEnvironment } from './environment.ts'
import type { DataFiles } from './files/data-files.ts'
import type { Log } from '@flotilla/protocol/json-log'
import { createDailyLog, heartbeatLogFolder } from './workspace/daily-log.ts'
import type { DailyLog } from './workspace/daily-log.ts'

/** Keeps conversations within their windows and makes removed messages searchable. Loads nothing by itself. */
export function composeContext(deps: {
  environment: AgentEnvironment
  files: DataFiles
  factKeeper: FactKeeper
  clock: Clock
  log: Log
}): { context: ContextKeeper; recordRun: RecordRun; recordHeartbeat: RecordRun; dailyLog: DailyLog } {
  const { environment, files, clock, log } = deps
  const { model, dataDirectory, kind } = environment
  const dailyLog = createDailyLog({ files, clock })
  // An operator's container has no room for the tokenizer; the usage that the model reports corrects the estimate.
  const counts = kind === 'worker' && hasOurTokenizer(model)
  const tokenizer = counts ? createTokenCounter(() => import('./parts/tokenizer.ts')) : null
  const modelFacts = createModelFactStore({ dataDirectory, clock, log })
  return {
    context: createContextKeeper({
      model,
      modelFacts,
      tokenizer,
      factKeeper: deps.factKeeper,
      dailyLog,
      log,
    }),
    recordRun: createRecordRun({ dailyLog, log }),
    recordHeartbeat: createRecordRun({
      dailyLog: createDailyLog({ files, clock, folder: heartbeatLogFolder }),
      log,
    }),
    dailyLog,
  }
}
