import process from 'node:process'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { describe, expect, it, onTestFinished } from 'vitest'
import { checkMoney } from '../chaos/checks/check-money.ts'
import { someFacts } from '../chaos/checks/some-facts.ts'
import type { BilledFact } from '../chaos/facts.ts'
import { gatherRows } from '../chaos/gather-rows.ts'
import { nextTurn } from '../chaos/read-conversation.ts'
import type { SaidMessage } from '../chaos/read-conversation.ts'
import { eventually } from '../support/eventually.ts'
import { chunkEvent, startLlmUpstream, usageEvent } from '../support/llm-upstream.ts'
import { startMeshForTest } from '../support/mesh-process.ts'
import { killUnderCalls } from '../support/money-kills.ts'
import { patient } from '../support/patience.ts'

const kills = process.env['FLOTILLA_SOAK'] === '1' ? 80 : 1

describe('money over kills of the mesh', () => {
  it(
    'money over kills of the mesh is what the rows say, while an agent that outlives it calls at every moment of its start',
    async () => {
      const { calls } = await killUnderCalls({ runtime: 'process', kills, seconds: kills > 20 ? 60 : 8 })
      expect(calls).toBeGreaterThan(kills)
    },
    patient(900_000),
  )

  it(
    'money over kills of the mesh is booked for the run that a steer became, when its first answer is cut off by the kill',
    async () => {
      const { mesh, billed, answer } = await aMeshWithAHeldModel()
      await mesh.createWorker('left')
      await mesh.call(meshHumanEndpoints.steer, {
        params: { id: 'left' },
        body: { text: 'Steer s1 is said.' },
      })
      await eventually('the model is asked in the run of the steer', () => billed.length === 1)
      await mesh.kill9()
      answer(1)
      answer(2)
      await mesh.restart()
      await eventually('all runs are over', async () => (await mesh.runs()).every(({ outcome }) => outcome))
      expect(await mesh.terminate()).toBe(0)
      const rows = await gatherRows(mesh.home)
      expect(rows.runs).toHaveLength(1)
      expect(rows.money.spend.map(({ runId, unconfirmed }) => [runId, unconfirmed])).toEqual([
        [rows.runs[0]?.id, 'mesh-killed'],
        [rows.runs[0]?.id, null],
      ])
      expect(billed).toHaveLength(2)
      expect(checkMoney(someFacts({ ...rows, billed }))).toEqual([])
    },
    patient(120_000),
  )
})

/** A mesh with a model that bills each call on arrival, and answers only when the test releases it. */
async function aMeshWithAHeldModel() {
  const upstream = await startLlmUpstream()
  onTestFinished(() => upstream.close())
  const gates = [1, 2].map(() => Promise.withResolvers<void>())
  const answer = (number: number) => gates[number - 1]?.resolve()
  const billed: BilledFact[] = []
  upstream.answerWith(async (call, response) => {
    const number = billed.length + 1
    const { marker } = nextTurn(call.body['messages'] as readonly SaidMessage[]) // the mesh sends this request
    billed.push({ number, marker, costNano: number * 10 + 300_000, whole: false })
    await Promise.race([gates[number - 1]?.promise, call.closed])
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunkEvent({ content: 'done' }, 'stop'))
    response.write(usageEvent({ prompt_tokens: number, completion_tokens: 300, total_tokens: number + 300 }))
    response.end('data: [DONE]\n\n')
  })
  const mesh = await startMeshForTest({
    environment: { FLOTILLA_NO_INSTALL: '1' },
    settings: {
      default_model: 'fake/held',
      providers: { fake: { kind: 'openai-compatible', base_url: upstream.baseUrl } },
      models: { 'fake/held': { price: { input_per_mtok: 0.01, output_per_mtok: 1 } } },
    },
  })
  return { mesh, billed, answer }
}
