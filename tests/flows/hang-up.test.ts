import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { moneyApi, moneyEndpoints } from '@flotilla/protocol/money-api'
import { describe, expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { chunkEvent, startLlmUpstream, usageEvent } from '../support/llm-upstream.ts'
import { repositoryRoot, startMeshForTest } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'

const program = join(repositoryRoot, 'tests', 'support', 'many-hang-ups.mjs')
const budgetUsd = 0.01

async function today(mesh: MeshProcess) {
  const { budgets } = moneyApi.budgets.response.parse((await mesh.call(moneyEndpoints.budgets)).json())
  const found = budgets.find((one) => one.id === 'rude')
  if (!found) throw new Error('no budget of rude')
  return found.daily
}

describe('a program that hangs up on models that think', () => {
  it('a program that hangs up on models that think has no more generated than its budget pays for, and pays for all of it', async () => {
    const upstream = await startLlmUpstream()
    const bill = { usd: 0 }
    upstream.answerWith(async (call, response) => {
      const made = Number(call.body['max_tokens'])
      // The provider bills what it generates, even after the client has disconnected.
      bill.usd += (60 * 1 + made * 2) / 1e6
      await sleep(300)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chunkEvent({ content: 'thought' }, 'length'))
      response.write(usageEvent({ prompt_tokens: 60, completion_tokens: made, total_tokens: 60 + made }))
      response.end('data: [DONE]\n\n')
    })
    const mesh = await startMeshForTest({
      settings: {
        default_model: 'fake/thinks',
        providers: { fake: { kind: 'openai-compatible', base_url: upstream.baseUrl } },
        models: { 'fake/thinks': { price: { input_per_mtok: 1, output_per_mtok: 2 } } },
      },
    })
    await mesh.createWorker('rude', { budget: { daily_usd: budgetUsd, monthly_usd: 1 } })
    await mesh.invoke('rude', 'run_command', { command: `node ${program} fake/thinks 40`, timeout_s: 100 })
    await eventually('all calls are settled', async () => (await today(mesh)).reserved_usd === 0)
    const { spent_usd: spent } = await today(mesh)
    expect(upstream.calls.length).toBeGreaterThan(1)
    expect(bill.usd).toBeLessThanOrEqual(budgetUsd)
    expect(spent).toBeGreaterThanOrEqual(bill.usd - 1e-9)
    expect(spent).toBeLessThanOrEqual(budgetUsd)
    await upstream.close()
  })
})
