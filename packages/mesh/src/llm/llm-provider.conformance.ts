import { describe, expect, test } from 'vitest'
import type { LlmProvider, ProviderRequest } from './llm-provider.ts'
import { readAnswer } from './read-answer.ts'

/** A provider that answers `Hello there` to the message `hi` of agent `scout`, and is silent to `wait`. */
export interface ProviderUnderTest {
  readonly provider: LlmProvider
  readonly model: string
  close(): Promise<void>
}

/** What every provider owes its callers; the words are in `llm-provider.ts`. */
export function describeLlmProvider(name: string, make: () => Promise<ProviderUnderTest>): void {
  describe(`${name} as a provider`, () => {
    test('answers in one piece of JSON with its usage', () =>
      withFresh(make, async ({ provider, model }) => {
        const reply = await provider.complete(aRequest(model, 'hi', false), {
          signal: new AbortController().signal,
        })
        const text = Buffer.concat(await Array.fromAsync(reply.body)).toString()
        expect(reply.status).toBe(200)
        expect(reply.contentType).toContain('application/json')
        expect(readAnswer(text, false)?.content).toBe('Hello there')
        expect(JSON.parse(text)).toMatchObject({ usage: { prompt_tokens: expect.any(Number) } })
      }))

    test('streams events that end with the usage and DONE', () =>
      withFresh(make, async ({ provider, model }) => {
        const reply = await provider.complete(aRequest(model, 'hi', true), {
          signal: new AbortController().signal,
        })
        const text = Buffer.concat(await Array.fromAsync(reply.body)).toString()
        expect(reply.contentType).toContain('text/event-stream')
        expect(readAnswer(text, true)?.content).toBe('Hello there')
        expect(text).toMatch(/"usage":\{[^}]*\}[^]*data: \[DONE\]\n\n$/)
      }))

    test('rejects with the reason of a signal that aborts', () =>
      withFresh(make, async ({ provider, model }) => {
        const leaving = new AbortController()
        const reason = new Error('enough')
        const reply = provider.complete(aRequest(model, 'wait', true), { signal: leaving.signal })
        setImmediate(() => leaving.abort(reason))
        await expect(reply).rejects.toBe(reason)
      }))

    test('answers again after a reply was discarded', () =>
      withFresh(make, async ({ provider, model }) => {
        const signal = new AbortController().signal
        const first = await provider.complete(aRequest(model, 'hi', true), { signal })
        first.discard()
        expect((await provider.complete(aRequest(model, 'hi', true), { signal })).status).toBe(200)
      }))
  })
}

async function withFresh(
  make: () => Promise<ProviderUnderTest>,
  work: (under: ProviderUnderTest) => Promise<void>,
): Promise<void> {
  const under = await make()
  try {
    await work(under)
  } finally {
    await under.close()
  }
}

function aRequest(model: string, content: string, stream: boolean): ProviderRequest {
  const parameters = {
    messages: [{ role: 'user', content }],
    ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
  }
  return {
    form: 'chat',
    agentId: 'scout',
    model,
    stream,
    parameters,
    body: JSON.stringify({ model, ...parameters }),
  }
}
