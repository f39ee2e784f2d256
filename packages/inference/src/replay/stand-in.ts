import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { LlmProvider, StandIn } from '../models/index.ts'
import { keptMessages } from './exchange.ts'
import { stepAskedFor } from './read-record.ts'
import { createRecordedProvider, refusingProvider } from './recorded-provider.ts'
import { knownRecordOf } from './replay-context.ts'
import type { ReplayContext } from './replay-context.ts'
import type { Replay } from './replay-table.ts'

/** Returns what answers the model calls of a replay in place of a model; null for every other run. */
export function createStandIn(context: ReplayContext): StandIn {
  return (call) => {
    // This function decides synchronously, because every model call uses it and most runs are no replays.
    const replay = context.replays.find(call.runId)
    return replay && standInOf(context, replay, call)
  }
}

async function standInOf(
  context: ReplayContext,
  replay: Replay,
  call: Parameters<StandIn>[0],
): Promise<{ readonly llm: LlmProvider } | { readonly model: string }> {
  const live = replay.model === null ? { llm: refusingProvider } : { model: replay.model }
  if (call.purpose !== 'loop') return live
  const record = await knownRecordOf(context, replay.ofRun)
  const turn = record.turns[replay.turn]
  const question = questionOf(context, call.runId)
  if (
    replay.until !== null &&
    (!turn || stepAskedFor(keptMessages(call.parameters), { ...turn, asked: question }) >= replay.until)
  )
    return live
  const provider = createRecordedProvider({ ...context.kernel, replay, record, asked: question })
  return { llm: context.recorder.wrap(provider) }
}

/** Returns the input of a replay, cut and cleaned when it was submitted, as its agent sends it to the model. */
function questionOf({ runs }: ReplayContext, runId: string): string {
  const input = runs.find(runId)?.input
  return input?.kind === 'chat' ? sanitizeForPrompt(input.message) : ''
}
