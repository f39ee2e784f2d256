import { heartbeatEndpoints } from '@flotilla/protocol/heartbeat-api'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { taskDetailSchema, taskHumanApi, taskHumanEndpoints } from '@flotilla/protocol/task-api'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { editPermissions } from '../support/edit-permissions.ts'
import { eventually } from '../support/eventually.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'

/** A cassette track: the operator gets a message, makes one call, and answers with the tool's result. */
const does = (when: string, tool: string, input: JsonObject) => ({
  agent_kind: 'operator' as const,
  when: `^${when}$`,
  turns: [calls(tool, input), says('{{how}}', { capture: { how: '^([^]{1,3000})' } })],
})
const cassette = aCassette(
  does('queue', 'list_queue', { agent_id: 'ada', limit: 5 }),
  does('costs', 'read_costs', {}),
  does('messages', 'read_messages', {}),
  does('templates', 'list_templates', {}),
  does('apply', 'apply_template', { name: 'starter' }),
  does('wake', 'set_heartbeat', { agent_id: 'ada', every: '45m' }),
  does('sleep', 'set_heartbeat', { agent_id: 'ada', every: 'off' }),
  does('myself', 'set_heartbeat', { agent_id: 'operator', every: 'off' }),
  does('note', 'save_observations', { text: 'ada answers in two seconds' }),
  {
    agent_kind: 'operator',
    when: '^judge task',
    turns: [
      calls(
        'review_task',
        { task_id: '{{id}}', outcome: 'rework', comment: 'Name the source.' },
        { capture: { id: '(task[\\w-]+)' } },
      ),
      says('{{how}}', { capture: { how: '^([^]{1,3000})' } }),
    ],
  },
  {
    agent_kind: 'operator',
    when: '"Look", which you gave to eve, is done',
    turns: [says('It was done again.')],
  },
  { agents: ['eve'], when: '"title": ?"Look', turns: [calls('complete_task', { summary: 'Seen.' })] },
  { when: '^hello$', turns: [says('Hello of ada.')] },
  {
    agent_kind: 'operator',
    when: 'What changed in the fleet',
    turns: [says('{{seen}}', { capture: { seen: '(# What changed in the fleet[^#]*)' } })],
  },
)

let mesh: MeshProcess
beforeAll(async () => {
  mesh = await startMesh({ cassettes: { operator: cassette } })
})
afterAll(() => mesh?.stop())

it('the operator sees what waits, costs and was said, sets heartbeats of workers, and keeps what it saw', async () => {
  await mesh.createWorker('ada')
  await mesh.ask('hello', { agent: 'ada' })
  const ask = async (message: string) =>
    (await mesh.ask(message, { agent: 'operator', session: message })).outcome?.text ?? ''

  expect(await ask('queue')).toMatch(/"about": ?"hello"[^]*"outcome": ?"Hello of ada\."/)
  expect(await ask('costs')).toMatch(/"scope": ?"fleet"[^]*"id": ?"ada"/)
  expect(await ask('messages')).toMatch(/"messages": ?\[\]/)
  expect(await ask('templates')).toMatch(/"starter"/)
  const applied = await ask('apply')
  expect(applied).toMatch(/"created": ?\[\s*"/)
  expect(await ask('apply')).toMatch(/"existing": ?\[\s*"/)

  const heartbeats = async () => JSON.stringify((await mesh.call(heartbeatEndpoints.heartbeats, {})).json())
  expect(await ask('wake')).toMatch(/every 45m/)
  expect(await heartbeats()).toContain('"schedule":"every 45m"')
  expect(await ask('sleep')).toMatch(/"schedule": ?null/)
  expect(await heartbeats()).not.toContain('every 45m')
  expect(await ask('myself')).toMatch(/an agent may not edit its own configuration/)

  expect(await ask('note')).toMatch(/"kept": ?1/)
  const kept = await readFile(join(mesh.dataOf('operator'), 'workspace', 'OBSERVATIONS.md'), 'utf8')
  expect(kept).toContain('ada answers in two seconds')

  const heartbeat = async () => {
    const reply = await mesh.call(heartbeatEndpoints.heartbeatRun, { params: { id: 'operator' }, body: {} })
    return JSON.stringify(reply.json())
  }
  expect(await heartbeat()).toContain('Nothing to compare with yet')
  await mesh.createWorker('bob')
  expect(await heartbeat()).toContain('- bob: is new')
  expect(await heartbeat()).toContain('since your last heartbeat\\nNothing.')
})

it('the operator judges work that a person gave, and its worker learns from it', async () => {
  await mesh.createWorker('eve')
  const given = await mesh.call(taskHumanEndpoints.taskGive, { body: { to: 'eve', title: 'Look' } })
  const id = taskHumanApi.taskGive.response.parse(given.json()).task.id
  const detail = async (of: string) => {
    const reply = await mesh.call(taskHumanEndpoints.task, { params: { id: of } })
    return taskDetailSchema.parse(reply.json()).task
  }
  await eventually('the work is done', async () => ((await detail(id)).state === 'done' ? true : null))
  const { outcome } = await mesh.ask(`judge ${id}`, { agent: 'operator', session: 'judge' })
  expect(outcome?.text).toBe('It was done again.')
  expect(await detail(id)).toMatchObject({
    outcome: 'rework',
    feedback: 'Name the source.',
    outcome_by: 'operator',
  })
  const learned = await eventually('the verdict is among the learnings', async () => {
    // An agent records the feedback on its work when it works again.
    await mesh.ask('hello', { agent: 'eve', session: 'later' })
    const text = await readFile(join(mesh.dataOf('eve'), 'learnings', 'feedback.md'), 'utf8').catch(() => '')
    return text.includes('Name the source.') ? text : null
  })
  expect(learned).toContain('Look')

  // The tool is checked like the operator's other tools: without the permission, the call is denied.
  await editPermissions(mesh, 'operator', { can_route_tasks: false })
  expect((await mesh.ask(`judge ${id}`, { agent: 'operator', session: 'denied' })).outcome?.text).toMatch(
    /can_route_tasks is not set/,
  )
})
