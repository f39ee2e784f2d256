import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { createContextKeeper } from '../context/context-keeper.ts'
import type { ContextKeeper } from '../context/context-keeper.ts'
import type { TokenCounter } from '../context/count-tokens.ts'
import type { FactKeeper } from '../context/fact-keeper.ts'
import { freshCalibration } from '../context/calibration.ts'
import type { ModelFactStore, ModelFacts } from '../context/model-facts.ts'
import type { DailyLog } from '../workspace/daily-log.ts'
import { quietLog } from './quiet-log.ts'

/** Facts about models in memory; the mesh has already reported the window. */
export function aModelFactStore(
  windowTokens: number | null,
): ModelFactStore & { readonly facts: Map<string, ModelFacts> } {
  const facts = new Map<string, ModelFacts>()
  const of = (model: string): ModelFacts =>
    facts.get(model) ?? {
      calibration: freshCalibration,
      learnedWindow: null,
      meshWindowTokens: windowTokens,
      askedAt: 0,
    }
  return {
    facts,
    of: async (model) => of(model),
    learn: async (model, calibration) => void facts.set(model, { ...of(model), calibration }),
    learnWindow: async (model, learnedWindow) => void facts.set(model, { ...of(model), learnedWindow }),
    told: async (model, told) => void facts.set(model, { ...of(model), meshWindowTokens: told }),
    wantsAsking: async () => false,
  }
}

export interface KeptWords {
  readonly dailyLog: DailyLog
  readonly entries: string[]
  readonly transcripts: Map<string, string>
}

export function aDailyLog(): KeptWords {
  const entries: string[] = []
  const transcripts = new Map<string, string>()
  return {
    entries,
    transcripts,
    dailyLog: {
      append: async ({ text }) => void entries.push(text),
      read: async () => null,
      keepTranscript: async (mark, text) => {
        transcripts.set(mark, text)
        return `workspace/memory/transcripts/${mark}.md`
      },
    },
  }
}

export function aFactKeeper(): FactKeeper & { readonly facts: PromptText[]; readonly runs: boolean[] } {
  const facts: PromptText[] = []
  const runs: boolean[] = []
  return {
    facts,
    runs,
    saveFacts: async (found, { runOk }) => {
      runs.push(runOk)
      const kept = runOk ? found.filter((fact) => fact.trim() !== '') : []
      facts.push(...kept.filter((fact) => !facts.includes(fact)))
      return { saved: kept.length }
    },
  }
}

/** A context keeper with parts in memory; its window is large unless the test sets one. */
export function aContextKeeper(
  changes: {
    modelFacts?: ModelFactStore
    tokenizer?: TokenCounter | null
    factKeeper?: FactKeeper
    dailyLog?: DailyLog
  } = {},
): ContextKeeper {
  return createContextKeeper({
    model: 'test/model',
    modelFacts: aModelFactStore(1_000_000),
    tokenizer: null,
    factKeeper: aFactKeeper(),
    dailyLog: aDailyLog().dailyLog,
    log: quietLog,
    ...changes,
  })
}
