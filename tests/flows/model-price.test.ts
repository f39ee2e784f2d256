import { expect, it, onTestFinished } from 'vitest'
import { flotilla } from '../support/flotilla-command.ts'
import { startLlmUpstream } from '../support/llm-upstream.ts'
import { startMeshForTest } from '../support/mesh-process.ts'

it('a model without a price is refused with the command that sets it, and costs that from the next call on', async () => {
  const upstream = await startLlmUpstream()
  onTestFinished(() => upstream.close())
  const mesh = await startMeshForTest({
    settings: {
      default_model: 'mine/large',
      providers: { mine: { kind: 'openai-compatible', base_url: upstream.baseUrl, local: false } },
    },
  })
  const refused = await mesh.ask('hello')
  expect(refused.outcome?.text).toContain('flotilla models price mine/large --input USD --output USD')
  const at = { url: mesh.url, home: mesh.home }
  const half = await flotilla(at, 'models', 'price', 'mine/large', '--input', '1')
  expect([half.code, half.err]).toMatchObject([2, expect.stringContaining('both --input and --output')])
  const nameless = await flotilla(at, 'models', 'price', 'heartbeat', '--input', '1', '--output', '5')
  expect([nameless.code, nameless.err]).toMatchObject([
    1,
    expect.stringContaining('such as openai/gpt-5-mini'),
  ])
  const unknown = await flotilla(at, 'models', 'price', 'mina/large', '--input', '1', '--output', '5')
  expect([unknown.code, unknown.err]).toMatchObject([
    1,
    expect.stringContaining('there is no provider mina; did you mean mine?'),
  ])
  const unused = await flotilla(at, 'models', 'price', 'mine/larg', '--input', '1', '--output', '5')
  expect(unused.out + unused.err).toContain('No agent uses mine/larg')
  const set = await flotilla(at, 'models', 'price', 'mine/large', '--input', '1', '--output', '5')
  expect(set.out).toContain('mine/large costs 1 in and 5 out')
  // The provider reports 10 input tokens and 2 output tokens.
  const paid = await mesh.ask('hello')
  expect(paid).toMatchObject({ state: 'done', cost_usd: 0.00002 })
  expect((await flotilla(at, 'models')).out).toMatch(/mine\/large +1 +5/)
})
