import { afterAll, beforeAll, expect, test } from 'vitest'
import { httpCall } from '../../../../../tests/support/http-call.ts'
import { startLlmGateway } from '../../../../../tests/support/llm-gateway.ts'
import type { LlmGatewayUnderTest } from '../../../../../tests/support/llm-gateway.ts'

let gateway: LlmGatewayUnderTest
beforeAll(async () => {
  gateway = await startLlmGateway('openai', 'openai/gpt-4o-mini')
})
afterAll(() => gateway.close())

function askedByStranger(headers: Record<string, string>) {
  return httpCall({
    method: 'POST',
    url: `${gateway.rootUrl}/v1/chat/completions`,
    headers: { authorization: 'Bearer nobody', 'content-type': 'application/json', ...headers },
    body: '{}',
  })
}

test('a caller that the gate rejects gets the error format of its client', async () => {
  const detail = 'the call has no token of a running agent'
  const asOpenAi = await askedByStranger({})
  expect(asOpenAi.status).toBe(401)
  expect(asOpenAi.json()).toMatchObject({
    code: 'unauthenticated',
    error: { message: expect.stringContaining(detail) },
  })
  const asAnthropic = await askedByStranger({ 'anthropic-version': '2023-06-01' })
  expect(asAnthropic.status).toBe(401)
  expect(asAnthropic.json()).toMatchObject({
    type: 'error',
    error: { type: 'authentication_error', message: expect.stringContaining(detail) },
  })
})
