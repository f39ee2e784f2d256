import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { Log } from '@flotilla/protocol/json-log'
import type { LoopState } from '../loop/loop-state.ts'
import type { RunEnd } from '../loop/task-result.ts'
import { oneLine } from '../prompt/one-line.ts'
import type { DailyLog } from '../workspace/daily-log.ts'

const requestMaxChars = 300
const answeredMaxChars = 500

/** A run that has ended. */
export interface EndedRun {
  readonly session: string
  readonly state: LoopState
  readonly end: RunEnd
}

export type RecordRun = (run: EndedRun) => Promise<void>

/** Writes one line into the day's log for each run: what was asked, what was done, how it ended. */
export function createRecordRun(deps: { dailyLog: DailyLog; log: Log }): RecordRun {
  return async (run) => {
    const { runId } = run.state
    try {
      await deps.dailyLog.append({ mark: runId, text: sanitizeForPrompt(describeRun(run)) })
    } catch (err) {
      // The outcome of the run matters and not this line, so the error is only logged.
      deps.log.warn(
        { runId, err },
        'failed to write a run to the daily log of the agent; its outcome is not affected',
      )
    }
  }
}

/** Describes a run on one line, so that foreign text cannot pass for another entry of the day's log. Pure. */
export function describeRun({ session, state, end }: EndedRun): string {
  const request = state.messages.findLast((message) => message.role === 'user')?.content ?? ''
  const outcome = end.status === 'complete' ? end.response : `${end.status}: ${end.detail}`
  const tools = countTools(state.toolOutputs)
  const did = tools === '' ? '' : ` Called ${tools}.`
  return `[${oneLine(session, 100)}] Asked: "${oneLine(request, requestMaxChars)}".${did} Ended: "${oneLine(outcome, answeredMaxChars)}"`
}

function countTools(outputs: LoopState['toolOutputs']): string {
  const counts = new Map<string, number>()
  for (const { tool } of outputs) counts.set(tool, (counts.get(tool) ?? 0) + 1)
  return [...counts].map(([tool, count]) => (count === 1 ? tool : `${tool} ${count} times`)).join(', ')
}
