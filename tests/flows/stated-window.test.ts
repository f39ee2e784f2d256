import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { contextLimits } from '@flotilla/protocol/limits'
import { expect, it, onTestFinished } from 'vitest'
import { flotilla } from '../support/flotilla-command.ts'
import { refuse, startLlmUpstream, usageEvent, chunkEvent } from '../support/llm-upstream.ts'
import { startMeshForTest } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'

const stated = "This model's maximum context length is 8192 tokens."

async function windowsOf(mesh: MeshProcess) {
  const reply = await mesh.call(meshHumanEndpoints.models)
  const { models } = meshHumanApi.models.response.parse(reply.json())
  return models.find(({ id }) => id === 'lab/reader')?.stated_windows
}

it('a provider that states a window once stops no later run, over restarts, and people see what it said', async () => {
  const upstream = await startLlmUpstream()
  onTestFinished(() => upstream.close())
  const mesh = await startMeshForTest({
    settings: {
      default_model: 'lab/reader',
      providers: { lab: { kind: 'openai-compatible', base_url: upstream.baseUrl } },
    },
  })
  let promptTokens = 7000
  const answer = (): void =>
    upstream.answerWith((_call, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chunkEvent({ role: 'assistant', content: 'Hello there' }))
      response.write(chunkEvent({}, 'stop'))
      const usage = { prompt_tokens: promptTokens, completion_tokens: 2, total_tokens: promptTokens + 2 }
      response.end(`${usageEvent(usage)}data: [DONE]\n\n`)
    })
  const isDone = async (said: string): Promise<void> =>
    expect((await mesh.ask(said, { session: 'one' })).outcome, said).toMatchObject({ status: 'done' })

  answer()
  await isDone('so that the count is confirmed')
  expect(await windowsOf(mesh)).toEqual([])

  upstream.answerWith((_call, response) => {
    refuse(response, 400, { message: stated })
    answer()
  })
  await isDone('refused once')
  const told = await windowsOf(mesh)
  expect(told).toMatchObject([{ agent_id: 'operator', tokens: 8192 }])
  expect(told?.[0]?.until).toBeLessThanOrEqual(Date.now() + contextLimits.learnedWindowMs)
  const said = 'Free, because their provider is on this machine: lab/reader.'
  expect((await flotilla({ url: mesh.url, home: mesh.home }, 'costs')).out).toContain(said)
  const { out } = await flotilla({ url: mesh.url, home: mesh.home }, 'models')
  expect(out).toContain(said)
  expect(out).toContain('lab/reader takes 8192 tokens, as its provider said to operator')
  await isDone('the next run')

  await mesh.terminate()
  await mesh.restart()
  expect(await windowsOf(mesh)).toEqual(told)
  await isDone('after the mesh has started again')
  const again = await mesh.call(meshHumanEndpoints.agentRestart, { params: { id: 'operator' }, body: {} })
  expect(again.status).toBe(200)
  await isDone('after the agent has started again')

  promptTokens = 8193
  await isDone('which the model counts as longer than it said')
  expect(await windowsOf(mesh)).toEqual([])
})
