import { afterEach, describe, expect, test } from 'vitest'
import { startConnectProxy } from '../../../../../tests/support/connect-proxy.ts'
import { refusingPort } from '../../../../../tests/support/fake-upstream.ts'
import { answerStream, answerWhole, startLlmUpstream } from '../../../../../tests/support/llm-upstream.ts'
import { aModelPath, workerCaller } from '../../../../../tests/support/model-harness.ts'
import { readProxies } from '../../../../foundation/src/config/proxy-environment.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** A provider under a name that only the proxy resolves. */
async function aPath(
  kind: 'openai-compatible' | 'mistral',
  variables: (proxy: string) => Record<string, string>,
) {
  const upstream = await startLlmUpstream()
  const { port } = new URL(upstream.baseUrl)
  const proxy = await startConnectProxy({ 'models.corp.test': Number(port) })
  const base = `http://models.corp.test:${port}/v1`
  const parts = aModelPath({
    agentModel: 'corp/m',
    key: 'sk-test-key-0123456789',
    proxies: readProxies(variables(proxy.url)),
    settings: {
      providers: { corp: { kind, base_url: base, api_key: 'openai_api_key' } },
      models: { 'corp/m': { price: { input_per_mtok: 1, output_per_mtok: 1 } } },
    },
  })
  closers.push(upstream.close, proxy.close, parts.close)
  const ask = (more: object = {}) => {
    const body = { model: 'corp/m', messages: [{ role: 'user', content: 'hi' }], max_tokens: 100, ...more }
    const signal = AbortSignal.timeout(10_000)
    return parts.complete(workerCaller, { body: Buffer.from(JSON.stringify(body)), signal })
  }
  return { upstream, proxy, ask, target: `CONNECT models.corp.test:${port}` }
}

describe('a provider behind a company’s proxy', () => {
  test.each(['openai-compatible', 'mistral'] as const)(
    '%s is reached by CONNECT, once for many calls, and the proxy sees no key',
    async (kind) => {
      const { upstream, proxy, ask, target } = await aPath(kind, (url) => ({
        HTTP_PROXY: url.replace('//', '//ann:secret@'),
      }))
      upstream.answerWith((_call, response) => answerWhole(response))
      expect((await ask()).status).toBe(200)
      expect((await ask()).status).toBe(200)
      expect(upstream.calls).toHaveLength(2)
      expect(proxy.asked).toEqual([target])
      expect(proxy.authorizations).toEqual([`Basic ${Buffer.from('ann:secret').toString('base64')}`])
    },
  )

  test('an answer is streamed through the proxy', async () => {
    const { upstream, ask } = await aPath('openai-compatible', (url) => ({ ALL_PROXY: url }))
    upstream.answerWith(answerStream)
    const { body } = await ask({ stream: true })
    const text = body instanceof Uint8Array ? '' : Buffer.concat(await Array.fromAsync(body)).toString()
    expect(text).toContain('Hello')
    expect(text).toContain('[DONE]')
  })

  test.each([
    ['wants a password', 407, /the proxy http:\/\/127\.0\.0\.1:\d+ requires a user name and a password/],
    [
      'opens nothing',
      403,
      /the proxy http:\/\/127\.0\.0\.1:\d+ did not open a connection to models\.corp\.test:\d+ \(403\)/,
    ],
  ])('a proxy that %s is named, and its password is not', async (_what, status, words) => {
    const { proxy, ask } = await aPath('openai-compatible', (url) => ({
      HTTP_PROXY: url.replace('//', '//ann:secret@'),
    }))
    proxy.refuseWith(status)
    const problem = await ask().catch((error: unknown) => error)
    expect(problem).toMatchObject({
      code: 'provider-unreachable',
      detail: expect.stringMatching(words) as unknown,
    })
    expect(JSON.stringify(problem)).not.toContain('secret')
  })

  test('a proxy that is down is named', async () => {
    const dead = `http://127.0.0.1:${await refusingPort()}`
    const { ask } = await aPath('openai-compatible', () => ({ HTTP_PROXY: dead }))
    await expect(ask()).rejects.toMatchObject({
      code: 'provider-unreachable',
      detail: expect.stringContaining(`the proxy ${dead} does not answer (ECONNREFUSED)`) as unknown,
    })
  })

  test('a provider behind a company’s proxy on loopback is asked directly, whatever the environment says', async () => {
    const upstream = await startLlmUpstream()
    const proxy = await startConnectProxy()
    const parts = aModelPath({
      baseUrl: upstream.baseUrl,
      proxies: readProxies({ ALL_PROXY: proxy.url, NO_PROXY: '' }),
    })
    closers.push(upstream.close, proxy.close, parts.close)
    upstream.answerWith((_call, response) => answerWhole(response))
    const body = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }], max_tokens: 10 }
    const asked = { body: Buffer.from(JSON.stringify(body)), signal: AbortSignal.timeout(10_000) }
    expect((await parts.complete(workerCaller, asked)).status).toBe(200)
    expect(proxy.asked).toEqual([])
  })
})
