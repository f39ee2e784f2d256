import { joinPromptText, sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { fingerprint } from '../loop/fingerprint.ts'
import type { DailyLog } from '../workspace/daily-log.ts'
import type { FactKeeper } from './fact-keeper.ts'

/** Facts go into the log of the day, where searches and heartbeats find them. */
export function logFacts(dailyLog: DailyLog): FactKeeper {
  return {
    saveFacts: async (facts, { runId, runOk }) => {
      if (!runOk || facts.length === 0) return { saved: 0 }
      const text = joinPromptText([sanitizeForPrompt('Worth keeping:'), ...facts], '\n  - ')
      await dailyLog.append({ mark: `${runId}-facts-${fingerprint(text).slice(0, 12)}`, text })
      return { saved: facts.length }
    },
  }
}
