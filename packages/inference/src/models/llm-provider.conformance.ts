import { describe, expect, test } from 'vitest'
import { transcriptionCall } from './formats/transcription-format.ts'
import type { LlmProvider, ProviderRequest } from './llm-provider.ts'

/** A provider that answers `Hello there` to the message `hi` of agent `scout`, and is silent to `wait`. */
export interface ProviderUnderTest {
  readonly provider: LlmProvider
  readonly model: string
  close(): Promise<void>
}

type SpokenForm = 'chat' | 'messages'

/** The contract tests for every provider, in each form that it supports; `llm-provider.ts` states the contract. */
export function describeLlmProvider(
  name: string,
  make: () => Promise<ProviderUnderTest>,
  forms: readonly SpokenForm[] = ['chat'],
): void {
  describe.each(forms)(`${name} as a provider of %s`, (form) => {
    test(`${name} says that it speaks so`, () =>
      withFresh(make, async ({ provider }) => {
        expect([...provider.forms]).toContain(form)
      }))

    test(`${name} answers in one piece of JSON with its usage`, () =>
      withFresh(make, async ({ provider, model }) => {
        const reply = await provider.complete(aRequest(form, model, { content: 'hi' }), {
          signal: new AbortController().signal,
        })
        const text = Buffer.concat(await Array.fromAsync(reply.body)).toString()
        expect(reply.status).toBe(200)
        expect(reply.contentType).toContain('application/json')
        expect(JSON.parse(text)).toMatchObject(wholeAnswer[form])
      }))

    test('streams events that end with the usage and the mark of the end', () =>
      withFresh(make, async ({ provider, model }) => {
        const reply = await provider.complete(aRequest(form, model, { content: 'hi', stream: true }), {
          signal: new AbortController().signal,
        })
        const text = Buffer.concat(await Array.fromAsync(reply.body)).toString()
        expect(reply.status).toBe(200)
        expect(reply.contentType).toContain('text/event-stream')
        expect(streamedWords[form](text)).toBe('Hello there')
        expect(text).toMatch(streamEnd[form])
      }))

    test(`${name} rejects with the reason of a signal that aborts`, () =>
      withFresh(make, async ({ provider, model }) => {
        const leaving = new AbortController()
        const reason = new Error('enough')
        const reply = provider.complete(aRequest(form, model, { content: 'wait', stream: true }), {
          signal: leaving.signal,
        })
        setImmediate(() => leaving.abort(reason))
        await expect(reply).rejects.toBe(reason)
      }))

    test(`${name} answers again after a reply was discarded`, () =>
      withFresh(make, async ({ provider, model }) => {
        const signal = new AbortController().signal
        const request = aRequest(form, model, { content: 'hi', stream: true })
        const first = await provider.complete(request, { signal })
        first.discard()
        expect((await provider.complete(request, { signal })).status).toBe(200)
      }))
  })
}

/**
 * Further requirements for a provider that transcribes sound, which is not JSON: `make` returns one that answers
 * `Hello there` to the note `hi`, and never answers `wait`.
 */
export function describeTranscriber(name: string, make: () => Promise<ProviderUnderTest>): void {
  describe(`${name} as a provider of transcriptions`, () => {
    test(`${name} as a provider of transcriptions says that it speaks so`, () =>
      withFresh(make, async ({ provider }) => {
        expect([...provider.forms]).toContain('transcription')
      }))

    test(`${name} as a provider of transcriptions answers in one piece of JSON with its words`, () =>
      withFresh(make, async ({ provider, model }) => {
        const signal = new AbortController().signal
        const reply = await provider.complete(await aNote(model, 'hi'), { signal })
        expect(reply.status).toBe(200)
        expect(reply.contentType).toContain('application/json')
        const text = Buffer.concat(await Array.fromAsync(reply.body)).toString()
        expect(JSON.parse(text)).toMatchObject({ text: 'Hello there' })
      }))

    test(`${name} as a provider of transcriptions rejects with the reason of a signal that aborts`, () =>
      withFresh(make, async ({ provider, model }) => {
        const leaving = new AbortController()
        const reason = new Error('enough')
        const reply = provider.complete(await aNote(model, 'wait'), { signal: leaving.signal })
        setImmediate(() => leaving.abort(reason))
        await expect(reply).rejects.toBe(reason)
      }))

    test(`${name} as a provider of transcriptions answers again after a reply was discarded`, () =>
      withFresh(make, async ({ provider, model }) => {
        const signal = new AbortController().signal
        const request = await aNote(model, 'hi')
        const first = await provider.complete(request, { signal })
        first.discard()
        expect((await provider.complete(request, { signal })).status).toBe(200)
      }))
  })
}

async function aNote(model: string, words: string): Promise<ProviderRequest> {
  const type = { mediaType: 'audio/ogg', ending: 'ogg' }
  const call = await transcriptionCall(model, { audio: Buffer.from(`OggS${words}`), type })
  return { form: 'transcription', agentId: 'scout', model, stream: false, parameters: {}, ...call }
}

/** Answers as the public APIs define them, written by hand. */
const wholeAnswer: Readonly<Record<SpokenForm, object>> = {
  chat: {
    choices: [{ message: { role: 'assistant', content: 'Hello there' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: expect.any(Number), completion_tokens: expect.any(Number) },
  },
  messages: {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'Hello there' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: expect.any(Number), output_tokens: expect.any(Number) },
  },
}

const streamedWords: Readonly<Record<SpokenForm, (text: string) => string>> = {
  chat: (text) => wordsIn(text, /"content":"([^"]*)"/g),
  messages: (text) => wordsIn(text, /"text_delta","text":"([^"]*)"/g),
}

const streamEnd: Readonly<Record<SpokenForm, RegExp>> = {
  chat: /"usage":\{[^}]*\}[^]*data: \[DONE\]\n\n$/,
  messages: /"usage":\{[^}]*"output_tokens":[^]*event: message_stop\ndata: [^\n]*\n\n$/,
}

function wordsIn(text: string, pieces: RegExp): string {
  return [...text.matchAll(pieces)].map(([, words]) => words).join('')
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

function aRequest(
  form: SpokenForm,
  model: string,
  { content, stream = false }: { readonly content: string; readonly stream?: boolean },
): ProviderRequest {
  const own =
    form === 'messages' ? { max_tokens: 100 } : stream ? { stream_options: { include_usage: true } } : {}
  const parameters = { messages: [{ role: 'user', content }], ...(stream ? { stream } : {}), ...own }
  return {
    form,
    agentId: 'scout',
    model,
    stream,
    parameters,
    body: JSON.stringify({ model, ...parameters }),
  }
}
