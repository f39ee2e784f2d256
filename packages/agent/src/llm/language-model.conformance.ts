import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { describe, expect, test } from 'vitest'
import type { LanguageModel, ModelAnswer, ModelRequest } from './language-model.ts'

/** A model that answers the given answer once, or refuses with `denied` when it is null. */
export type MakeModel = (
  answer: Pick<ModelAnswer, 'text' | 'toolCalls'> | null,
) => Promise<{ model: LanguageModel; close: () => Promise<void> }>

const request: ModelRequest = {
  messages: [{ role: 'user', content: sanitizeForPrompt('hello') }],
  tools: [],
  mayCallTools: true,
  answerTokensMax: null,
}

/** The contract of every language model. */
export function describeLanguageModel(name: string, make: MakeModel): void {
  describe(`${name} as a language model`, () => {
    const signal = new AbortController().signal

    test('the streamed text equals the returned text', async () => {
      const { model, close } = await make({ text: 'good day', toolCalls: [] })
      let received = ''
      const answer = await model.answer(request, (delta) => (received += delta), signal)
      await close()
      expect(answer.text).toBe('good day')
      expect(received).toBe('good day')
      expect(answer.tokens).toBeGreaterThan(0)
    })

    test('calls arrive whole and in order', async () => {
      const toolCalls = [
        { id: 'call_a', name: 'read_file', arguments: '{"path":"a"}' },
        { id: 'call_b', name: 'list_files', arguments: '{}' },
      ]
      const { model, close } = await make({ text: '', toolCalls })
      const answer = await model.answer(request, () => undefined, signal)
      await close()
      expect(answer.toolCalls).toEqual(toolCalls)
    })

    test('a refusal is a Problem', async () => {
      const { model, close } = await make(null)
      const answer = model.answer(request, () => undefined, signal)
      await expect(answer).rejects.toBeInstanceOf(Problem)
      await expect(answer).rejects.toMatchObject({ code: 'denied' })
      await close()
    })

    test('an aborted signal rejects with its reason', async () => {
      const { model, close } = await make({ text: 'late', toolCalls: [] })
      const reason = new Problem('cancelled')
      await expect(model.answer(request, () => undefined, AbortSignal.abort(reason))).rejects.toBe(reason)
      await close()
    })
  })
}
