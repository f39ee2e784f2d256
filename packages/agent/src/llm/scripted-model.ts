import { Problem } from '@flotilla/protocol/problem'
import type { LanguageModel, ModelAnswer, ModelRequest } from './language-model.ts'

/** A step with `cut` streams that text and then fails: the provider ended the stream. */
export type ScriptedStep = Partial<ModelAnswer> | Problem | { readonly cut: string }

/** The requests to a scripted model, for a test to inspect. */
export interface ScriptedModel extends LanguageModel {
  readonly asked: readonly ModelRequest[]
}

/**
 * Gives the scripted answers in order, and fails with `model-failed` after the last. For tests and for trying
 * out the loop.
 */
export function createScriptedModel(steps: readonly ScriptedStep[]): ScriptedModel {
  const requests: ModelRequest[] = []
  return {
    asked: requests,
    answer: async (request, onText, signal) => {
      signal.throwIfAborted()
      const step = steps[requests.length]
      requests.push({ ...request, messages: [...request.messages] })
      if (step === undefined) throw new Problem('model-failed', { detail: 'The script has ended.' })
      if (step instanceof Problem) throw step
      if ('cut' in step) {
        onText(step.cut, true)
        // The run may be stopped while this piece is sent.
        signal.throwIfAborted()
        throw new Problem('upstream-failed', { detail: 'The answer of the model ended early.' })
      }
      const answer = {
        text: '',
        toolCalls: [],
        cutOff: false,
        tokens: 10,
        promptTokens: 0,
        answeredBy: null,
        costUsd: 0.001,
        ...step,
      }
      if (answer.text !== '') onText(answer.text, true)
      return answer
    },
  }
}
