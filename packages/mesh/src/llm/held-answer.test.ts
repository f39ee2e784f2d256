import { Problem } from '@flotilla/protocol/problem'
import { expect, onTestFinished, test } from 'vitest'
import { aModelPath, workerCaller } from '../../../../tests/support/llm-door.ts'
import { answerWhole, startLlmUpstream } from '../../../../tests/support/llm-upstream.ts'
import { chatDialect } from './chat-dialect.ts'
import { createComplete } from './complete.ts'
import { agentScope, utcDay } from './spend-table.ts'

const body = new TextEncoder().encode(
  JSON.stringify({ model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] }),
)

async function aCall() {
  const upstream = await startLlmUpstream()
  const parts = aModelPath({ baseUrl: upstream.baseUrl })
  onTestFinished(async () => {
    await parts.close()
    await upstream.close()
  })
  upstream.answerWith((_call, response) => answerWhole(response))
  const complete = createComplete(parts.deps, chatDialect)
  const signal = new AbortController().signal
  return {
    upstream,
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

test('an answer that there is no room for is told once, asked for no second time, and paid', async () => {
  const { upstream, ask, spent } = await aCall()
  const full = () => {
    throw new Problem('rate-limited', { detail: 'too much is kept', retryAfterSeconds: 2 })
  }
  await expect(ask(full)).rejects.toMatchObject({ code: 'rate-limited', retryAfterSeconds: 2 })
  expect(upstream.calls).toHaveLength(1)
  expect(spent().spentNano).toBeGreaterThan(0)
  expect(spent()).toMatchObject({ openNano: 0 })
})
