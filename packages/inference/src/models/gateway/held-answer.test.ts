import { Problem } from '@flotilla/protocol/problem'
import { expect, onTestFinished, test } from 'vitest'
import { aModelPath, workerCaller } from '../../../../../tests/support/model-harness.ts'
import type { LlmPartsOptions } from '../../../../../tests/support/model-harness.ts'
import { answerStream, answerWhole, startLlmUpstream } from '../../../../../tests/support/llm-upstream.ts'
import { completionBody } from '../../../../../tests/support/model-path.ts'
import { chatFormat } from '../formats/chat-format.ts'
import { createComplete } from './complete.ts'
import type { ApiFormat } from '../formats/api-format.ts'
import { agentScope, utcDay } from '../../spending/sum-scopes.ts'

const body = completionBody()

async function aCall(overrides: LlmPartsOptions['overrides'] = {}) {
  const upstream = await startLlmUpstream()
  const parts = aModelPath({ baseUrl: upstream.baseUrl, overrides })
  onTestFinished(async () => {
    await parts.close()
    await upstream.close()
  })
  upstream.answerWith((_call, response) => answerWhole(response))
  const complete = createComplete(parts.deps, chatFormat)
  const signal = new AbortController().signal
  return {
    upstream,
    parts,
    ask: (hold: (bytes: number) => void) => complete(workerCaller, { body, signal, hold }),
    spent: () => parts.spent(agentScope('scout'), utcDay(Date.now())),
  }
}

test('every byte of a whole answer is counted as kept', async () => {
  const { ask } = await aCall()
  let kept = 0
  const reply = await ask((bytes) => void (kept += bytes))
  expect(reply.status).toBe(200)
  expect(kept).toBeGreaterThan(100)
})

test('an answer without room to hold it is reported once, not requested again, and charged', async () => {
  const { upstream, ask, spent } = await aCall()
  const full = () => {
    throw new Problem('rate-limited', { detail: 'too much is kept', retryAfterSeconds: 2 })
  }
  await expect(ask(full)).rejects.toMatchObject({ code: 'rate-limited', retryAfterSeconds: 2 })
  expect(upstream.calls).toHaveLength(1)
  expect(spent().spentNano).toBeGreaterThan(0)
  expect(spent()).toMatchObject({ openNano: 0 })
})

test.each([true, false])(
  'what a call keeps stays counted until its answer is in, also when its client has left (stream: %s)',
  async (stream) => {
    const { upstream, parts } = await aCall()
    const asked = Promise.withResolvers<void>()
    const may = Promise.withResolvers<void>()
    upstream.answerWith(async (call, response) => {
      asked.resolve()
      await may.promise
      if (stream) answerStream(call, response)
      else answerWhole(response)
    })
    const leaving = new AbortController()
    const work = { keeps: 0, ended: 0, bytes: 0 }
    const input = {
      body: completionBody({ stream }),
      signal: leaving.signal,
      hold: (bytes: number) => void (work.bytes += bytes),
      keep: () => {
        work.keeps++
        return () => void work.ended++
      },
    }
    const left = createComplete(parts.deps, chatFormat)(workerCaller, input).catch(() => null)
    await asked.promise
    leaving.abort(new Error('the client has gone'))
    await left
    expect(work.keeps - work.ended).toBeGreaterThan(0)
    may.resolve()
    await expect.poll(() => work.keeps - work.ended).toBe(0)
    if (!stream) expect(work.bytes).toBeGreaterThan(100)
  },
)

test('what a prompt names by its address is counted as it comes, and as the text that is sent of it', async () => {
  const picture = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(30_000)])
  const kept: number[] = []
  let keptBeforeEnd = 0
  const { parts } = await aCall({
    fetchMedia: async (_caller, { hold }) => {
      hold?.(picture.length)
      keptBeforeEnd = kept.length
      return picture
    },
  })
  const content = [{ type: 'image_url', image_url: { url: 'https://site.test/a.png' } }]
  const complete = createComplete(parts.deps, chatFormat)
  const signal = new AbortController().signal
  const hold = (bytes: number) => void kept.push(bytes)
  await complete(workerCaller, {
    body: completionBody({ messages: [{ role: 'user', content }] }),
    signal,
    hold,
  })
  expect(keptBeforeEnd).toBe(1)
  const base64 = Math.ceil(picture.length / 3) * 4
  expect((kept[0] ?? 0) + (kept[1] ?? 0)).toBe(base64)
})

test('the draft, the bound and the reading of an answer are on the share of the loop of the agent', async () => {
  let inside: string | null = null
  const seen: Record<string, string | null> = {}
  const { parts } = await aCall({
    onShareOf: (agentId, work) => {
      inside = agentId
      try {
        return work()
      } finally {
        inside = null
      }
    },
  })
  const apiFormat: ApiFormat = {
    ...chatFormat,
    read: (bytes, betas) => {
      const read = chatFormat.read(bytes, betas)
      const forwarded = Object.defineProperty({ ...read.forwarded }, 'user', {
        enumerable: true,
        get: () => {
          seen['draft'] = inside
          return 'me'
        },
      })
      return {
        ...read,
        forwarded,
        fit: (fitted) => {
          seen['bound'] = inside
          return fitted
        },
      }
    },
    usageOf: (answer) => {
      seen['answer'] = inside
      return chatFormat.usageOf(answer)
    },
  }
  await createComplete(parts.deps, apiFormat)(workerCaller, { body, signal: new AbortController().signal })
  expect(seen).toEqual({ draft: 'scout', bound: 'scout', answer: 'scout' })
})
