import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { operatorApi, operatorViewApi } from '@flotilla/protocol/operator-api'
import { operatorEndpoints, operatorViewEndpoints } from '@flotilla/protocol/operator-endpoints'
import { operatorTools } from '@flotilla/protocol/operator-tools'
import type { OperatorToolName } from '@flotilla/protocol/operator-tools'
import { Problem } from '@flotilla/protocol/problem'
import { describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import { createDataFiles } from '../files/data-files.ts'
import { systemClock } from '../system-clock.ts'
import type { RunMesh, RunMeshCall } from '../mesh/run-mesh.ts'
import { readObservations } from '../workspace/observations.ts'
import { noMesh } from '../testing/loop-parts.ts'
import { taskTools } from './tasks.ts'
import { allowedOperatorTools, operatorToolTable } from './operator.ts'

const signal = new AbortController().signal
const own = { files: createDataFiles(mkdtempSync(join(tmpdir(), 'operator-'))), clock: systemClock }

function recording(answer: unknown = {}): { mesh: RunMesh; calls: RunMeshCall[] } {
  const calls: RunMeshCall[] = []
  const mesh = {
    ...noMesh,
    call: async (call: RunMeshCall) => {
      calls.push(call)
      return answer
    },
  }
  return { mesh, calls }
}

async function ask(name: OperatorToolName, input: JsonObject) {
  const { mesh, calls } = recording()
  const tool = operatorToolTable(own)[name]
  await tool.run(input, { mesh, idempotencyKey: 'run_1:4', taskId: null, signal })
  return { tool, calls }
}

/** The request of each tool call, and the schema with which the mesh reads its body or query. */
const asked: readonly (readonly [
  OperatorToolName,
  JsonObject,
  (typeof operatorEndpoints)[keyof typeof operatorEndpoints],
  { safeParse(value: unknown): { success: boolean } },
])[] = [
  [
    'set_heartbeat',
    { agent_id: 'w', every: '30m' },
    operatorEndpoints.agentHeartbeat,
    operatorApi.agentHeartbeat.request,
  ],
  [
    'set_heartbeat',
    { agent_id: 'w', every: 'off' },
    operatorEndpoints.agentHeartbeat,
    operatorApi.agentHeartbeat.request,
  ],
  [
    'create_agent',
    { id: 'w', role: 'works' },
    operatorEndpoints.agentCreate,
    operatorApi.agentCreate.request,
  ],
  [
    'create_agent',
    {
      id: 'w',
      role: 'works',
      model: 'a/b',
      daily_usd: 1,
      monthly_usd: '20',
      permissions: { can_message: ['x'] },
    },
    operatorEndpoints.agentCreate,
    operatorApi.agentCreate.request,
  ],
  [
    'edit_agent',
    { agent_id: 'w', field: 'role', value: 'reads' },
    operatorEndpoints.agentEdit,
    operatorApi.agentEdit.request,
  ],
  [
    'edit_agent',
    { agent_id: 'w', field: 'model', value: null },
    operatorEndpoints.agentEdit,
    operatorApi.agentEdit.request,
  ],
  [
    'edit_agent',
    { agent_id: 'w', field: 'SOUL.md', value: 'kind', reason: 'asked' },
    operatorEndpoints.agentEdit,
    operatorApi.agentEdit.request,
  ],
  [
    'edit_agent',
    { agent_id: 'w', field: 'budget', value: { daily_usd: 1 } },
    operatorEndpoints.agentEdit,
    operatorApi.agentEdit.request,
  ],
  [
    'edit_agent',
    { agent_id: 'w', field: 'permissions', value: { can_message: ['x'] } },
    operatorEndpoints.agentEdit,
    operatorApi.agentEdit.request,
  ],
  [
    'edit_agent',
    { agent_id: 'w', field: 'permissions', value: '{"can_message":["x"]}' },
    operatorEndpoints.agentEdit,
    operatorApi.agentEdit.request,
  ],
  [
    'delete_agent',
    { agent_id: 'w', reason: 'old' },
    operatorEndpoints.agentDelete,
    operatorApi.agentDelete.request,
  ],
]

describe('what the operator’s tools ask of the mesh', () => {
  test.each(asked)(
    '%s with %j is what the mesh reads, under the key of its step',
    async (...[name, input, endpoint, schema]) => {
      const { tool, calls } = await ask(name, input)
      expect(tool.effect).toBe('mesh')
      expect(calls).toMatchObject([{ endpoint, idempotencyKey: 'run_1:4' }])
      expect(schema.safeParse(calls[0]?.body).success, JSON.stringify(calls[0]?.body)).toBe(true)
    },
  )

  test.each<[OperatorToolName, string]>([
    ['restart_agent', operatorEndpoints.agentRestart.path],
    ['stop_agent', operatorEndpoints.agentStop.path],
    ['undo_change', operatorEndpoints.changeUndo.path],
    ['cancel_pending', operatorEndpoints.pendingCancel.path],
  ])('%s is an effect under its key', async (name, path) => {
    const { calls } = await ask(
      name,
      name === 'undo_change'
        ? { undo_token: 'change_1' }
        : name === 'cancel_pending'
          ? { id: 'appr_1' }
          : { agent_id: 'w' },
    )
    expect(calls).toMatchObject([{ endpoint: { path }, idempotencyKey: 'run_1:4' }])
  })

  test('looking has no effect, and asks what the mesh reads', async () => {
    const { calls } = await ask('list_stale_tasks', { hours: 3 })
    expect(calls).toMatchObject([{ endpoint: operatorViewEndpoints.staleTasks, query: { hours: '3' } }])
    expect(operatorViewApi.staleTasks.query.safeParse(calls[0]?.query).success).toBe(true)
    const both = await ask('inspect_agent', { agent_id: 'w', file: 'SOUL.md' })
    expect(both.calls.map((call) => call.endpoint)).toEqual([
      operatorEndpoints.agentConfig,
      operatorEndpoints.agentFile,
    ])
  })

  test('half a budget is asked for in whole', async () => {
    await expect(ask('create_agent', { id: 'w', role: 'works', daily_usd: 1 })).rejects.toMatchObject({
      code: 'bad-request',
    })
  })
})

describe('what the operator looks at', () => {
  test.each([
    ['list_queue', { agent_id: 'w', limit: 5 }, operatorEndpoints.agentRuns, { limit: '5' }, { id: 'w' }],
    ['read_messages', { agent_id: 'w' }, operatorEndpoints.messages, { agent: 'w' }, undefined],
    ['read_costs', {}, operatorEndpoints.budgets, undefined, undefined],
    ['list_templates', {}, operatorEndpoints.templates, undefined, undefined],
  ] as const)(
    'a look of the operator by %s has no effect and asks its own address',
    async (...[name, input, endpoint, query, params]) => {
      const { tool, calls } = await ask(name, input)
      expect(tool.effect).toBe('none')
      expect(calls).toMatchObject([{ endpoint, ...(query ? { query } : {}), ...(params ? { params } : {}) }])
    },
  )

  test('a look of the operator is stored on its own disk without any request', async () => {
    const { calls } = await ask('save_observations', { text: 'ada is slow' })
    expect(calls).toEqual([])
    expect(await readObservations(own.files)).toContain('ada is slow')
  })
})

describe('the tools that the operator is offered', () => {
  test('the tools that the operator is offered are those that the mesh names, and no others', async () => {
    heedsLesson(127)
    const { mesh } = recording({ tools: ['undo_change', 'inspect_fleet', 'launch_rocket'] })
    const offered = await allowedOperatorTools({ mesh, signal }, own)
    expect(offered.map((tool) => tool.definition.name)).toEqual(['inspect_fleet', 'undo_change'])
  })

  test('the operator is offered no tools if the mesh names none', async () => {
    for (const answer of [{}, null, { tools: 'all' }]) {
      expect(await allowedOperatorTools({ mesh: recording(answer).mesh, signal }, own)).toEqual([])
    }
    const refusing = { ...noMesh, call: () => Promise.reject(new Problem('denied')) }
    await expect(allowedOperatorTools({ mesh: refusing, signal }, own)).rejects.toMatchObject({
      code: 'denied',
    })
  })

  test('the tools that the operator is offered bear the names and words of the one table', () => {
    heedsLesson(127)
    const table = operatorToolTable(own)
    for (const { name, summary } of operatorTools) {
      expect(table[name].definition.name).toBe(name)
      expect(table[name].definition.description.toLowerCase()).toContain(summary.toLowerCase())
    }
    expect(Object.keys(table)).toHaveLength(operatorTools.length)
    // Operator and workers use the same schema for a verdict.
    const common = taskTools().find(({ definition }) => definition.name === 'review_task')
    expect(table.review_task.definition.parameters).toEqual(common?.definition.parameters)
  })
})
