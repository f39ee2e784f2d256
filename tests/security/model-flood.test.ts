import { randomUUID } from 'node:crypto'
import { wireLimits } from '@flotilla/protocol/limits'
import { headers } from '@flotilla/protocol/headers'
import { resourceRequestEndpoints, resourceRequestLimits } from '@flotilla/protocol/resource-requests-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentAtWork, knock } from '../support/agent-at-work.ts'
import type { AgentAtWork } from '../support/agent-at-work.ts'
import { startFloodedMesh } from '../support/flooded-mesh.ts'
import type { Flood, FloodedMesh } from '../support/flooded-mesh.ts'
import { httpCall } from '../support/http-call.ts'
import { startWebServer } from '../support/web-server.ts'
import type { WebServer } from '../support/web-server.ts'
import { authenticationTable } from './authentication-table.ts'

let flooded: FloodedMesh
let web: WebServer

const answerOfModel = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'read' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})
const model = 'flooded/m'
const text = 'x'.repeat(wireLimits.modelBodyMaxBytes - 2000)
const callsOfHistory = 4000
const reason = 'x'.repeat(resourceRequestLimits.reasonMaxChars)
const numbers = Array.from({ length: callsOfHistory }, (_, at) => `call_${at}`)

/** Calls a model as a program in the agent's container does. */
function ask(by: AgentAtWork, path: string, body: unknown) {
  return httpCall({
    method: 'POST',
    url: `${by.api}${path}`,
    headers: { authorization: `Bearer ${by.programToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

/** Prompts at their bound, and histories of many calls with their results in reverse order. */
const floods: readonly Flood[] = [
  {
    what: 'prompts at their bound, POST /v1/responses',
    call: (by) => ask(by, '/v1/responses', { model, input: text, max_output_tokens: 10 }),
  },
  {
    what: 'prompts at their bound, POST /v1/messages',
    call: (by) =>
      ask(by, '/v1/messages', { model, max_tokens: 10, messages: [{ role: 'user', content: text }] }),
  },
  {
    what: 'prompts at their bound, POST /v1/messages/count_tokens',
    call: (by) =>
      ask(by, '/v1/messages/count_tokens', { model, messages: [{ role: 'user', content: text }] }),
  },
  {
    what: 'prompts at their bound, POST /v1beta/models',
    call: (by) =>
      ask(by, `/v1beta/models/${model}:generateContent`, { contents: [{ role: 'user', parts: [{ text }] }] }),
  },
  {
    what: 'texts at their bound, POST /v1/embeddings',
    call: (by) => ask(by, '/v1/embeddings', { model, input: text }),
  },
  {
    what: 'histories of many calls, POST /v1/chat/completions',
    call: (by) =>
      ask(by, '/v1/chat/completions', {
        model,
        messages: [
          { role: 'user', content: 'Look.' },
          {
            role: 'assistant',
            content: null,
            tool_calls: numbers.map((id) => ({
              id,
              type: 'function',
              function: { name: 'look', arguments: '{}' },
            })),
          },
          ...numbers.toReversed().map((id) => ({ role: 'tool', tool_call_id: id, content: id })),
        ],
      }),
  },
  {
    what: 'histories of many messages of one role, POST /v1/chat/completions',
    call: (by) =>
      ask(by, '/v1/chat/completions', {
        model,
        messages: numbers.map((id) => ({ role: 'user', content: [{ type: 'text', text: id }] })),
      }),
  },
  {
    what: 'histories of many calls, POST /v1/messages',
    call: (by) =>
      ask(by, '/v1/messages', {
        model,
        max_tokens: 10,
        messages: [
          { role: 'user', content: 'Look.' },
          {
            role: 'assistant',
            content: numbers.map((id) => ({ type: 'tool_use', id, name: 'look', input: {} })),
          },
          {
            role: 'user',
            content: numbers
              .toReversed()
              .map((id) => ({ type: 'tool_result', tool_use_id: id, content: id })),
          },
        ],
      }),
  },
  {
    what: 'histories of many calls, POST /v1/responses',
    call: (by) =>
      ask(by, '/v1/responses', {
        model,
        input: [
          { role: 'user', content: 'Look.' },
          ...numbers.map((id) => ({ type: 'function_call', call_id: id, name: 'look', arguments: '{}' })),
          ...numbers.toReversed().map((id) => ({ type: 'function_call_output', call_id: id, output: id })),
        ],
      }),
  },
  {
    what: 'histories of many calls, POST /v1beta/models',
    call: (by) =>
      ask(by, `/v1beta/models/${model}:generateContent`, {
        contents: [
          { role: 'user', parts: [{ text: 'Look.' }] },
          { role: 'model', parts: numbers.map((id) => ({ functionCall: { id, name: 'look', args: {} } })) },
          {
            role: 'user',
            parts: numbers
              .toReversed()
              .map((id) => ({ functionResponse: { id, name: 'look', response: { id } } })),
          },
        ],
      }),
  },
  {
    what: 'requests for packages',
    call: (by) =>
      knock(by, {
        ...resourceRequestEndpoints.packagesRequest,
        body: {
          packages: {
            npm: numbers.slice(0, resourceRequestLimits.packagesMax).map((id) => id.replace('_', '-')),
          },
          reason,
        },
      }),
  },
  {
    what: 'requests for a larger container',
    call: (by) => knock(by, { ...resourceRequestEndpoints.sizeRequest, body: { memory_mb: 4096, reason } }),
  },
]

beforeAll(async () => {
  web = await startWebServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(answerOfModel)
  })
  const flooders = [...floods.map((_, index) => `flooder-${index}`), 'knocker', 'program', 'operator']
  flooded = await startFloodedMesh({
    settings: {
      egress: { allowed_private: [`127.0.0.1:${web.port}`] },
      agents: Object.fromEntries(flooders.map((id) => [id, { models: ['scripted/works', model] }])),
      models: { [model]: { price: { input_per_mtok: 0.01, output_per_mtok: 0.01 } } },
      providers: {
        flooded: { kind: 'openai-compatible', base_url: `http://127.0.0.1:${web.port}/v1`, local: true },
      },
    },
  })
})
afterAll(async () => {
  await flooded?.close()
  await web?.close()
})

describe('a flood of one agent', () => {
  it.each(floods.map((one, index) => [one.what, one, `flooder-${index}`] as const))(
    'a flood of %s leaves the event loop to other agents',
    async (_what, one, id) => {
      const by = await flooded.aFlooder(id)
      expect(await flooded.judge(by, one)).toBeNull()
    },
  )

  // The table has each route of the mesh, so an entrance that is added is flooded too.
  it.each([
    ['agent', 'knocker', authenticationTable.agent],
    ['agent as a program', 'program', authenticationTable.models],
    ['operator', 'operator', authenticationTable.operator],
  ] as const)(
    'a flood of the %s at each of its entrances, with bodies at their bound, leaves the event loop to other agents',
    async (who, id, entrances) => {
      const by =
        id === 'operator'
          ? await agentAtWork(flooded.mesh, id)
          : await flooded.aFlooder(id, { can_use_wallet: true, can_manage_cron: true, can_subscribe: ['*'] })
      const statuses = new Map<string, number[]>(entrances.map((entrance) => [entrance, []]))
      let next = 0
      expect(
        await flooded.judge(by, {
          what: `each entrance of the ${who}`,
          calls: 2 * entrances.length,
          isEnded: true,
          call: async () => {
            const entrance = entrances[next++ % entrances.length] ?? ''
            const reply = await enter(by, entrance, who === 'agent as a program' ? by.programToken : by.token)
            statuses.get(entrance)?.push(reply.status)
            return reply
          },
        }),
      ).toBeNull()
      // A call without valid credentials would show nothing.
      expect([...statuses].filter(([, of]) => of.length === 0 || of.includes(401))).toEqual([])
    },
  )
})

const largeBody = JSON.stringify({ value: Array.from({ length: 90_000 }, (_, at) => at) })

/** Calls an entrance with names in its path, and with a body at the bound if it takes one. */
function enter(by: AgentAtWork, entrance: string, token: string): Promise<{ readonly status: number }> {
  const [method = '', path = ''] = entrance.split(' ')
  const named = path.replaceAll(/\{[^}]+\}/g, 'none')
  const hasBody = method !== 'GET' && method !== 'DELETE'
  return httpCall({
    method,
    url: `${by.api}${named}`,
    headers: {
      authorization: `Bearer ${token}`,
      [headers.runId]: by.run.id,
      [headers.runFence]: String(by.run.fence),
      [headers.idempotencyKey]: `key ${randomUUID()}`,
      ...(hasBody ? { 'content-type': 'application/json' } : {}),
    },
    body: hasBody ? largeBody : undefined,
  })
}
