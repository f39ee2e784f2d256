import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentAtWork, knock, longWork } from '../support/agent-at-work.ts'
import type { AgentAtWork } from '../support/agent-at-work.ts'
import { eventually } from '../support/eventually.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { verifies } from '../verifies.ts'

type Call = readonly [method: string, path: string, body?: object]

const chat = { model: 'scripted/works', messages: [{ role: 'user', content: 'x' }] }
const task = { to: 'bob', title: 'count' }

/**
 * Calls that leave an agent, each with the field of the permission record that allows it and the value it must
 * have.
 */
const worker: readonly (readonly [field: string, value: unknown, call: Call])[] = [
  ['can_message', ['bob'], ['POST', '/mesh/tasks', task]],
  ['can_route_tasks', true, ['POST', '/mesh/tasks', task]],
  ['can_publish', ['news'], ['POST', '/mesh/signals', { topic: 'news', text: 'x' }]],
  ['can_subscribe', ['news'], ['POST', '/mesh/topics/subscribe', { topic: 'news' }]],
  ['blackboard_write', ['tasks/*'], ['PUT', '/mesh/blackboard/tasks/x', { value: 1 }]],
  ['blackboard_read', ['tasks/*'], ['GET', '/mesh/blackboard/tasks/x']],
  ['allowed_apis', ['llm'], ['POST', '/v1/chat/completions', chat]],
  ['allowed_apis', ['http'], ['POST', '/mesh/http', { url: 'http://127.0.0.1:9/' }]],
  ['allowed_apis', ['web_search'], ['POST', '/mesh/web-search', { query: 'x' }]],
  ['allowed_credentials', ['key*'], ['POST', '/mesh/credentials/generate', { name: 'key_one' }]],
  ['can_manage_cron', true, ['POST', '/mesh/cron', { schedule: 'every 1h', message: 'x' }]],
  [
    'can_request_user_credentials',
    true,
    ['POST', '/mesh/credentials/requests', { name: 'wiki', service: 'x', description: 'x' }],
  ],
]
const edit = { field: 'SOUL.md', value: 'x', reason: 'x' }
const operators: typeof worker = [
  ['can_view_fleet_metrics', true, ['GET', '/mesh/operator/metrics']],
  ['can_view_fleet_metrics', true, ['GET', '/mesh/operator/audit']],
  ['can_edit_agent_config', true, ['POST', '/mesh/operator/agents/bob/edit', edit]],
  ['can_manage_fleet', true, ['POST', '/mesh/operator/agents/bob/restart', {}]],
]

let mesh: MeshProcess
let ann: AgentAtWork
let operator: AgentAtWork
let count = 0

beforeAll(async () => {
  mesh = await startMesh({ cassettes: { works: longWork } })
  for (const id of ['ann', 'bob']) await mesh.createWorker(id)
  ann = await agentAtWork(mesh, 'ann')
  operator = await agentAtWork(mesh, 'operator')
})
afterAll(() => mesh?.stop())

const knockAt = (who: AgentAtWork, [method, path, body]: Call) => knock(who, { method, path, body })

/** Replaces the agent's whole record in the file, and waits until the mesh uses it. */
async function hold(id: string, record: object): Promise<void> {
  const path = join(mesh.home, 'config', 'permissions.json')
  const file = JSON.parse(await readFile(path, 'utf8')) as { permissions: Record<string, object> }
  // An entry of another agent that only this edit makes shows when the edit is in force.
  const mark = `mark-${(count += 1)}`
  file.permissions[id] = record
  file.permissions['bob'] = { ...file.permissions['bob'], can_publish: [mark] }
  await writeFile(path, JSON.stringify(file, null, 2))
  await eventually('the edit holds', async () => {
    const reply = await mesh.call(controlEndpoints.agentConfig, { params: { id: 'bob' } })
    return reply.text.includes(mark) ? true : null
  })
}

const off = {
  can_manage_fleet: false,
  can_manage_projects: false,
  can_edit_agent_config: false,
  can_view_fleet_metrics: false,
  can_route_tasks: false,
  can_request_user_credentials: false,
}

describe('what crosses the boundary of an agent', () => {
  it.each([
    ['a worker', 'ann', worker],
    ['the operator', 'operator', operators],
  ] as const)(
    'what crosses the boundary of an agent of %s is asked of its permission record, field by field',
    async (_who, id, table) => {
      verifies('authentication:permissions:cross-boundary', 'purpose:mesh:enforces-permissions')
      const who = () => (id === 'ann' ? ann : operator)
      const every: Record<string, unknown> = {}
      for (const [field, value] of table)
        every[field] = Array.isArray(value) ? [...((every[field] as unknown[]) ?? []), ...value] : value
      await hold(id, { ...off, ...every })
      for (const [field, , call] of table) {
        const reply = await knockAt(who(), call)
        // The call may fail for lack of a provider or of the object, but it is not denied.
        if (call[0] === 'GET') expect(reply.status, reply.text).toBe(200)
        expect(reply.text, `${field}: ${call[1]}`).not.toMatch(/problem:denied|permission_error|stale-fence/)
      }
      // One field after the other is emptied, while all others keep their values.
      for (const [field, value, call] of table) {
        const less = Array.isArray(value)
          ? (every[field] as unknown[]).filter((entry) => !value.includes(entry))
          : false
        await hold(id, { ...off, ...every, [field]: less })
        const reply = await knockAt(who(), call)
        // A key that may not be read looks like a key that does not exist.
        const hidden = field === 'blackboard_read'
        expect(reply.status, `${call[1]} ${reply.text}`).toBe(hidden ? 404 : 403)
        if (!hidden) expect(reply.text, call[1]).toContain(field)
      }
    },
  )
})
