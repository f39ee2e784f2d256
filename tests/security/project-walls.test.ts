import { controlEndpoints } from '@flotilla/protocol/control-api'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { projectHumanEndpoints } from '@flotilla/protocol/project-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentAtWork, knock, longWork } from '../support/agent-at-work.ts'
import type { AgentAtWork } from '../support/agent-at-work.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { heedsLesson } from '../verifies.ts'

let mesh: MeshProcess
/** A member of project red, whose record allows everything that a worker can be allowed. */
let ann: AgentAtWork
/** A member of project blue. */
let bob: AgentAtWork
let taskOfBob = ''

async function good(reply: Promise<{ status: number; text: string; json(): Record<string, unknown> }>) {
  const answer = await reply
  if (answer.status >= 300) throw new Error(`${answer.status} ${answer.text}`)
  return answer.json()
}

beforeAll(async () => {
  mesh = await startMesh({ cassettes: { works: longWork } })
  for (const id of ['ann', 'bob']) await mesh.createWorker(id)
  const everything = {
    can_message: ['*'],
    can_publish: ['*'],
    can_subscribe: ['*'],
    blackboard_read: ['*'],
    blackboard_write: ['*'],
    can_route_tasks: true,
    can_manage_projects: true,
    can_view_fleet_metrics: true,
  }
  for (const [name, id] of [
    ['red', 'ann'],
    ['blue', 'bob'],
  ] as const) {
    const set = { field: 'permissions', value: { set: everything } }
    await good(mesh.call(controlEndpoints.agentEdit, { params: { id }, body: set }))
    const made = { action: 'create', agents: [id] }
    await good(mesh.call(projectHumanEndpoints.projectManage, { params: { name }, body: made }))
  }
  ann = await agentAtWork(mesh, 'ann')
  bob = await agentAtWork(mesh, 'bob')
  const entry = { method: 'PUT', path: '/mesh/blackboard/projects/blue/plan', body: { value: 'secret' } }
  await good(knock(bob, entry))
  const file = { name: 'plan.txt', content_base64: Buffer.from('secret').toString('base64') }
  await good(knock(bob, { method: 'POST', path: '/mesh/artifacts', body: { ...file, shared: true } }))
  const tasks = await mesh.call(
    { method: 'POST', path: '/api/tasks', summary: '' },
    {
      body: { to: 'bob', title: 'secret work' },
    },
  )
  taskOfBob = (tasks.json()['task'] as { id: string }).id
})
afterAll(() => mesh?.stop())

interface Attempt {
  readonly what: string
  readonly call: readonly [method: string, path: () => string, body?: object]
  /** 403 for denied, 404 if the object must look as if it did not exist. */
  readonly status: 403 | 404
}
const denied = (what: string, ...call: Attempt['call']): Attempt => ({ what, call, status: 403 })
const hidden = (what: string, ...call: Attempt['call']): Attempt => ({ what, call, status: 404 })

const attempts: readonly Attempt[] = [
  hidden('reads its entry', 'GET', () => '/mesh/blackboard/projects/blue/plan'),
  denied('writes its entry', 'PUT', () => '/mesh/blackboard/projects/blue/plan', { value: 1 }),
  denied('writes a new entry there', 'PUT', () => '/mesh/blackboard/projects/blue/other', { value: 1 }),
  denied('writes its history', 'PUT', () => '/mesh/blackboard/projects/blue/history/x', { value: 1 }),
  denied('watches its keys', 'POST', () => '/mesh/blackboard-watches', {
    pattern: 'projects/blue/**',
    tell: 'run',
  }),
  denied('speaks on its topic', 'POST', () => '/mesh/signals', { topic: 'projects/blue/news', text: 'x' }),
  denied('listens to its topic', 'POST', () => '/mesh/topics/subscribe', { topic: 'projects/blue/news' }),
  denied('gives its member work', 'POST', () => '/mesh/tasks', { to: 'bob', title: 'x' }),
  denied('asks its member', 'POST', () => '/mesh/messages', { to: 'bob', text: 'x' }),
  denied('steers its member', 'POST', () => '/mesh/agents/bob/steer', { text: 'x' }),
  hidden('reads its file', 'GET', () => '/mesh/artifacts/plan.txt?agent=bob'),
  hidden('lists its files', 'GET', () => '/mesh/artifacts?agent=bob'),
  hidden('reads its task', 'GET', () => `/mesh/tasks/${taskOfBob}`),
  hidden('takes its task', 'POST', () => `/mesh/tasks/${taskOfBob}/manage`, { action: 'reroute', to: 'ann' }),
  hidden('judges its task', 'POST', () => `/mesh/tasks/${taskOfBob}/review`, { outcome: 'accepted' }),
  hidden('reads what it is about', 'GET', () => '/mesh/projects/blue'),
  denied('writes its goal', 'PUT', () => '/mesh/projects/blue/text', { text: 'x', expected_version: 0 }),
  denied('lets itself in', 'POST', () => '/mesh/projects/blue/manage', {
    action: 'add_members',
    agents: ['ann'],
  }),
  denied('puts it away', 'POST', () => '/mesh/projects/blue/manage', { action: 'archive' }),
  denied('makes a project', 'POST', () => '/mesh/projects/green/manage', {
    action: 'create',
    agents: ['ann'],
  }),
]

describe('an agent of another project, with every right of a worker', () => {
  it.each(attempts)('$what: refused', async ({ call: [method, path, body], status }) => {
    heedsLesson(35)
    const reply = await knock(ann, { method, path: path(), ...(body === undefined ? {} : { body }) })
    expect(reply.status, reply.text).toBe(status)
    expect(reply.text).not.toContain('secret')
  })

  it('an agent of another project, with every right of a worker finds nothing of it in a list', async () => {
    for (const path of [
      '/mesh/blackboard',
      '/mesh/projects',
      '/mesh/tasks/inbox',
      '/mesh/artifacts?shared=true',
    ]) {
      const reply = await knock(ann, { method: 'GET', path })
      expect(reply.status).toBe(200)
      expect(reply.text).not.toMatch(/secret|plan|blue/)
    }
  })

  it('an agent of another project, with every right of a worker is counted', async () => {
    const { text } = await mesh.call(meshHumanEndpoints.metrics)
    const count = (way: string) =>
      Number(new RegExp(`xproject_count\\{agent="ann",way="${way}"\\} (\\d+)`).exec(text)?.[1])
    expect(count('read')).toBeGreaterThanOrEqual(1)
    expect(count('write')).toBeGreaterThanOrEqual(3)
  })

  it('an agent of another project, with every right of a worker does not move itself out of its own', async () => {
    const body = { action: 'remove_members', agents: ['ann'] }
    const reply = await knock(ann, { method: 'POST', path: '/mesh/projects/red/manage', body })
    expect(reply.status, reply.text).toBe(403)
  })
})

describe('a member', () => {
  it.each([
    { what: 'reads its entry', method: 'GET', path: '/mesh/blackboard/projects/blue/plan' },
    { what: 'reads what it is about', method: 'GET', path: '/mesh/projects/blue' },
    { what: 'lists its files', method: 'GET', path: '/mesh/artifacts?shared=true' },
    {
      what: 'speaks on its topic',
      method: 'POST',
      path: '/mesh/signals',
      body: { topic: 'projects/blue/news', text: 'x' },
    },
    {
      what: 'writes its goal',
      method: 'PUT',
      path: '/mesh/projects/blue/text',
      body: { text: 'x', expected_version: 0 },
    },
  ])('$what', async ({ what: _what, ...call }) => {
    const reply = await knock(bob, call)
    expect(reply.status, reply.text).toBe(200)
  })
})
