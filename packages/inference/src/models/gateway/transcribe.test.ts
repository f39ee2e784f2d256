import OpenAI from 'openai'
import { describe, expect, onTestFinished, test } from 'vitest'
import { aModelPath } from '../../../../../tests/support/model-harness.ts'
import type { LlmPartsOptions } from '../../../../../tests/support/model-harness.ts'
import {
  answerTranscript,
  aTranscriptionServer,
  oggNote,
  refuseTranscript,
} from '../../../../../tests/support/transcription-server.ts'
import type { HumanCaller } from '../../../../identity/src/access/index.ts'
import { Problem } from '@flotilla/protocol/problem'
import { agentScope, utcDay } from '../../spending/sum-scopes.ts'
import { createTranscribe, voiceLimits } from './transcribe.ts'
import type { VoiceNote } from './transcribe.ts'

const ann: HumanCaller = { kind: 'human', role: 'owner', channel: 'cli', local: true }
const usdPerMinute = 0.006
/** 6,000 bytes are eight seconds at the lowest rate. */
const bytes = 6000
const secondNano = (usdPerMinute * 1e9) / 60

async function open(options: LlmPartsOptions = {}) {
  const server = await aTranscriptionServer()
  const parts = aModelPath({ baseUrl: server.baseUrl, ...options })
  onTestFinished(async () => {
    await parts.close()
    await server.close()
  })
  const transcribe = createTranscribe(parts.deps)
  const say = (more: Partial<VoiceNote> = {}) =>
    transcribe(ann, {
      agentId: 'scout',
      audio: oggNote('hi', bytes),
      model: 'openai/whisper-1',
      usdPerMinute,
      signal: new AbortController().signal,
      ...more,
    })
  const spent = () => parts.spent(agentScope('scout'), utcDay(Date.now()))
  const called = () => {
    parts.spending.flush()
    return parts.events.bodies.filter(({ type }) => type === 'model.called')
  }
  return { server, parts, say, spent, called }
}

describe('a voice note that is written down', () => {
  test('a voice note that is written down goes to a server that the official client of OpenAI takes for theirs', async () => {
    const { server } = await open()
    const client = new OpenAI({ baseURL: server.baseUrl, apiKey: 'sk-client', maxRetries: 0 })
    const file = new File([Uint8Array.from(oggNote('x'))], 'x.ogg', { type: 'audio/ogg' })
    const transcript = await client.audio.transcriptions.create({ model: 'whisper-1', file })
    expect(transcript).toMatchObject({ text: 'Hello there', usage: { type: 'duration', seconds: 2 } })
    expect(server.notes).toMatchObject([{ model: 'whisper-1', fileName: 'x.ogg', mediaType: 'audio/ogg' }])
  })

  test('a voice note is sent as a form under a generated name, and its agent pays by the reported length, outside of any run', async () => {
    const { server, parts, say, spent, called } = await open()
    expect(await say()).toEqual({ text: 'Hello there' })
    expect(server.notes).toEqual([
      {
        model: 'whisper-1',
        format: 'verbose_json',
        fileName: 'voice.ogg',
        mediaType: 'audio/ogg',
        bytes: oggNote('hi', bytes),
        authorization: 'Bearer sk-test-key-0123456789',
      },
    ])
    expect(spent()).toMatchObject({ spentNano: 2 * secondNano, openNano: 0, calls: 1 })
    expect(called()).toMatchObject([
      { agent_id: 'scout', run_id: null, model: 'openai/whisper-1', operation: 'transcription', tokens: 0 },
    ])
    expect(called()[0]).not.toHaveProperty('unconfirmed')
    expect(parts.runCosts).toEqual([])
  })

  test('a voice note that is written down has what it may cost set aside before it leaves', async () => {
    const { server, parts, say } = await open()
    let openNano = 0
    server.answerWith((_note, response) => {
      openNano = parts.spent(agentScope('scout'), utcDay(Date.now())).openNano
      answerTranscript(response, 'x')
    })
    await say()
    expect(openNano).toBe(8 * secondNano)
  })

  test.each([
    ['verbose_json', { duration: 3 }, 3 * secondNano],
    ['verbose_json as some write it', { duration: '3.5' }, 3.5 * secondNano],
    ['no length', {}, 8 * secondNano],
    ['a length of nothing', { duration: 0 }, 8 * secondNano],
    [
      'a length that nobody believes',
      { duration: -1, usage: { type: 'duration', seconds: 1e12 } },
      8 * secondNano,
    ],
    [
      'tokens of a model that is billed by the minute',
      { usage: { type: 'tokens', input_tokens: 9, output_tokens: 9 } },
      8 * secondNano,
    ],
  ])('a voice note that is written down is paid for where its answer tells %s', async (_what, more, nano) => {
    const { server, say, spent, called } = await open()
    server.answerWith((_note, response) => answerTranscript(response, 'x', more))
    expect(await say()).toEqual({ text: 'x' })
    expect(spent()).toMatchObject({ spentNano: nano, openNano: 0 })
    expect('unconfirmed' in called()[0]!).toBe(nano === 8 * secondNano)
  })

  test('a voice note is charged by tokens if they are reported and the public list has their price', async () => {
    const { server, say, spent } = await open()
    const usage = {
      type: 'tokens',
      input_tokens: 1000,
      input_token_details: { text_tokens: 100, audio_tokens: 900 },
      output_tokens: 100,
    }
    server.answerWith((_note, response) => answerTranscript(response, 'x', { usage }))
    await say({ model: 'openai/gpt-4o-transcribe' })
    expect(server.notes[0]?.format).toBe('json')
    // USD 2.50 for a million text tokens, 6 for sound, 10 for the answer.
    expect(spent()).toMatchObject({ spentNano: (100 * 2.5 + 900 * 6 + 100 * 10) * 1000, tokens: 1100 })
  })

  test('a voice note that is written down costs nothing at a server of the owner’s, and wants no price there', async () => {
    const { server, say, spent, called } = await open({ dailyUsd: 0 })
    const { parts } = await open({ settings: ownServer(server.baseUrl), dailyUsd: 0 })
    const transcribe = createTranscribe(parts.deps)
    const signal = new AbortController().signal
    server.answerWith((_note, response) => answerTranscript(response, 'x', {}))
    const transcript = await transcribe(ann, {
      agentId: 'scout',
      audio: oggNote('x'),
      model: 'own/w',
      usdPerMinute: null,
      signal,
    })
    expect(transcript).toEqual({ text: 'x' })
    expect(await say({ usdPerMinute: null })).toMatchObject({
      failed: { code: 'model-unpriced', detail: expect.stringContaining('channels.voice.usd_per_minute') },
    })
    expect(spent().calls + called().length).toBe(0)
  })

  test('a voice note that is written down is cut at a bound of its words', async () => {
    const { server, say } = await open()
    server.answerWith((_note, response) =>
      answerTranscript(response, 'a'.repeat(voiceLimits.textMaxChars + 1)),
    )
    expect(await say()).toEqual({ text: `${'a'.repeat(voiceLimits.textMaxChars)} [cut]` })
  })
})

describe('a voice note that is not', () => {
  test.each([
    ['unknown audio format', { audio: Buffer.from('#!/bin/sh') }, 'unprocessable'],
    ['is larger than the bound', { audio: oggNote('x', voiceLimits.audioMaxBytes + 1) }, 'body-too-large'],
    ['has a model that nobody set up', { model: 'nobody/x' }, 'not-configured'],
    ['has a model that writes no sound down', { model: 'offline/hashed-words' }, 'not-configured'],
  ])('a voice note that is not because it %s costs nothing', async (_what, more, code) => {
    const { server, say, spent } = await open()
    expect(await say(more)).toMatchObject({ failed: { code }, waitMs: null })
    expect(server.notes).toEqual([])
    expect(spent()).toMatchObject({ spentNano: 0, openNano: 0, calls: 0 })
  })

  test('a voice note is not sent if the budget is used up, and the refusal is reported', async () => {
    const { server, say } = await open({ dailyUsd: (7 * secondNano) / 1e9 })
    expect(await say()).toMatchObject({ failed: { code: 'budget-exhausted' }, waitMs: null })
    expect(server.notes).toEqual([])
  })

  test('a voice note that is not because its sender may give the agent no work never leaves', async () => {
    const guard = () => {
      throw new Problem('denied', { detail: 'not granted' })
    }
    const { server, say, spent } = await open({ overrides: { guard } })
    expect(await say()).toMatchObject({ failed: { code: 'denied' } })
    expect(server.notes).toEqual([])
    expect(spent().calls).toBe(0)
  })

  test.each([
    [429, 'rate-limited', 3000],
    [503, 'upstream-failed', 3000],
    [401, 'provider-refused', null],
    [400, 'model-call-rejected', null],
  ])(
    'a voice note that is not because the provider says %i gives its money back, and says whether to wait',
    async (status, code, waitMs) => {
      const { server, say, spent } = await open()
      server.answerWith((_note, response) => {
        response.setHeader('retry-after', '3')
        refuseTranscript(response, status, 'no')
      })
      expect(await say()).toMatchObject({ failed: { code }, waitMs })
      expect(server.notes).toHaveLength(1)
      expect(spent()).toMatchObject({ spentNano: 0, openNano: 0 })
    },
  )

  test.each([
    ['hangs up', (response: import('node:http').ServerResponse) => void response.destroy()],
    [
      'answers what is no transcription',
      (response: import('node:http').ServerResponse) => void response.end('{"text":1}'),
    ],
    ['answers no JSON', (response: import('node:http').ServerResponse) => void response.end('<html>')],
    [
      'answers without end',
      (response: import('node:http').ServerResponse) =>
        void response.end(`{"text":"${'x'.repeat(voiceLimits.answerMaxBytes)}"}`),
    ],
  ])(
    'a voice note that is not because the provider %s is paid for and not asked again',
    async (_what, answer) => {
      const { server, say, spent, called } = await open()
      server.answerWith((_note, response) => answer(response))
      expect(await say()).toMatchObject({ failed: { code: 'upstream-failed' }, waitMs: null })
      expect(server.notes).toHaveLength(1)
      expect(spent()).toMatchObject({ spentNano: 8 * secondNano, openNano: 0 })
      expect(called()).toMatchObject([{ unconfirmed: 'broken-off' }])
    },
  )

  test('a voice note that is not because a gateway gave up on its provider may have been written down, and is paid for', async () => {
    const { server, say, spent } = await open()
    server.answerWith((_note, response) => refuseTranscript(response, 504, 'too slow'))
    expect(await say()).toMatchObject({ failed: { code: 'upstream-timeout' }, waitMs: null })
    expect(spent()).toMatchObject({ spentNano: 8 * secondNano, openNano: 0 })
  })

  test('the answer to a voice note is read to its end after its caller left, and charged by its usage', async () => {
    const { server, say, spent } = await open()
    const leaving = new AbortController()
    const release = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<void>()
    server.answerWith(async (_note, response) => {
      leaving.abort(new Error('the channel is switched off'))
      await release.promise
      response.on('close', () => answered.resolve())
      answerTranscript(response, 'too late')
    })
    await expect(say({ signal: leaving.signal })).rejects.toThrow('the channel is switched off')
    expect(spent()).toMatchObject({ openNano: 8 * secondNano, spentNano: 0 })
    release.resolve()
    await answered.promise
    await expect.poll(() => spent().openNano).toBe(0)
    expect(spent().spentNano).toBe(2 * secondNano)
  })
})

function ownServer(baseUrl: string): object {
  return { providers: { own: { kind: 'openai-compatible', base_url: baseUrl } } }
}
