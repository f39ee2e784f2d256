import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { blackboardHumanEndpoints } from '@flotilla/protocol/blackboard-api'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import { projectHumanEndpoints } from '@flotilla/protocol/project-api'
import { isTerminal } from '@flotilla/protocol/run'
import { taskDetailSchema, taskHumanEndpoints } from '@flotilla/protocol/task-api'
import type { TaskDetailView } from '@flotilla/protocol/task-api'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aCassette, calls, runs, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { heedsLesson } from '../verifies.ts'

const cassette = aCassette(
  {
    agents: ['left'],
    when: 'was answered by human:\\S+ the second',
    turns: [calls('complete_task', { summary: 'It is the second folder.' })],
  },
  {
    agents: ['left'],
    when: '"title": ?"Ask"',
    turns: [
      calls('update_task', { action: 'progress', note: 'I look for the folder' }),
      calls('update_task', { action: 'block', note: 'Which folder?' }),
      says('I wait for the answer.'),
      // An agent that is asked to continue without the answer says so, and would complete the task.
      calls('complete_task', { summary: 'I went on without an answer.' }),
    ],
  },
  {
    agents: ['left'],
    when: '"title": ?"First"',
    turns: [runs('sleep 2; echo once >> count.txt'), calls('complete_task', { summary: 'One.' })],
  },
  { agents: ['right'], when: '"title": ?"Second"', turns: [calls('complete_task', { summary: 'Two.' })] },
  { agents: ['right'], when: 'blackboard entries that you watch', turns: [says('I saw it.')] },
  { when: '^hello', turns: [says('Hello.')] },
)

/** One mesh for all tests, each with its own team. */
const team = ['left', 'right']
let mesh: MeshProcess
beforeAll(async () => {
  mesh = await startMesh({ cassettes: { team: cassette } })
})
afterAll(() => mesh?.stop())
beforeEach(async () => {
  await mesh.restartIfStopped()
  for (const id of team) await mesh.createWorker(id)
})
afterEach(async () => {
  await mesh.restartIfStopped()
  for (const id of team) await mesh.call(controlEndpoints.agentDelete, { params: { id } })
})

async function give(body: object): Promise<string> {
  const reply = await mesh.call(taskHumanEndpoints.taskGive, { body })
  expect(reply.status, reply.text).toBe(201)
  return (reply.json()['task'] as { id: string }).id
}

async function detail(id: string): Promise<TaskDetailView> {
  const reply = await mesh.call(taskHumanEndpoints.task, { params: { id } })
  return taskDetailSchema.parse(reply.json())
}

const is = (id: string, state: string) =>
  eventually(`task ${id} is ${state}`, async () => {
    const found = await detail(id)
    return found.task.state === state ? found : null
  })

it('a person writes the longest value that the blackboard takes, from a file', async () => {
  const file = join(mesh.home, 'longest.json')
  const write = (length: number) =>
    writeFile(file, JSON.stringify('x'.repeat(length - 2))).then(() =>
      flotilla({ home: mesh.home, url: mesh.url }, 'blackboard', 'set', 'output/longest', `@${file}`),
    )
  const taken = await write(262_144)
  expect(taken.code, taken.err).toBe(0)
  expect((await write(262_145)).err).toContain('262144 bytes')
  const got = await flotilla(
    { home: mesh.home, url: mesh.url },
    'blackboard',
    'get',
    'output/longest',
    '--json',
  )
  expect(JSON.parse(got.out)).toMatchObject({ version: 1, value: 'x'.repeat(262_142) })
})

describe('a task', () => {
  it('a task asks, is answered, is judged, and its agent keeps the verdict among its learnings', async () => {
    const id = await give({ to: 'left', title: 'Ask' })
    const { task } = await is(id, 'blocked')
    expect(task).toMatchObject({
      blocked_by: 'question',
      summary: 'Which folder?',
      progress: 'I look for the folder',
    })
    const waits = await flotilla({ home: mesh.home, url: mesh.url }, 'pending')
    expect(waits.out).toContain(`${id} left asks: Which folder?`)
    const answer = { action: 'answer', note: 'the second' }
    await mesh.call(taskHumanEndpoints.taskManage, { params: { id }, body: answer })
    const done = await is(id, 'done')
    expect((await flotilla({ home: mesh.home, url: mesh.url }, 'pending')).out).not.toContain(id)
    expect(done.task).toMatchObject({ summary: 'It is the second folder.', round: 1 })
    expect(done.history.map(({ action }) => action)).toEqual([
      'given',
      'begin',
      'progress',
      'block',
      'answer',
      'begin',
      'done',
    ])
    const verdict = { outcome: 'rejected', comment: 'You never looked into the folder.' }
    const judged = await mesh.call(taskHumanEndpoints.taskReview, { params: { id }, body: verdict })
    expect(judged.status, judged.text).toBe(200)
    const learned = () => readFile(join(mesh.dataOf('left'), 'learnings', 'feedback.md'), 'utf8')
    await eventually('the verdict is learned', async () => {
      await mesh.ask('hello', { agent: 'left', session: 'later' })
      const text = await learned().catch(() => '')
      return text.includes('You never looked into the folder.') ? text : null
    })
    await mesh.ask('hello again', { agent: 'left', session: 'later' })
    expect((await learned()).split('You never looked').length).toBe(2)
  })

  it('a task with an open question stays blocked when the turn of its agent has ended', async () => {
    const id = await give({ to: 'left', title: 'Ask' })
    await is(id, 'blocked')
    const run = await eventually('its run has ended', async () => {
      const [found] = await mesh.runs()
      return found && isTerminal(found.state) ? found : null
    })
    expect(run).toMatchObject({ state: 'done', outcome: { text: 'I wait for the answer.' } })
    const { task, history } = await detail(id)
    expect(task).toMatchObject({ state: 'blocked', blocked_by: 'question', summary: 'Which folder?' })
    expect(history.at(-1)).toMatchObject({ action: 'block' })
  })

  it('a dependent task starts after its predecessor, and a watcher is notified once, through a mesh that was killed', async () => {
    heedsLesson(49)
    const watch = { agent_id: 'right', pattern: 'output/**', tell: 'run' }
    await mesh.call(blackboardHumanEndpoints.blackboardWatchSet, { body: watch })
    const first = await give({ to: 'left', title: 'First' })
    const second = await give({ to: 'right', title: 'Second', needs: [first] })
    await is(first, 'working')
    expect((await detail(second)).task).toMatchObject({ state: 'pending', run_id: null })
    const written = await mesh.call(blackboardHumanEndpoints.blackboardPut, {
      params: { key: 'output/report' },
      body: { value: 1 },
    })
    expect(written.status, written.text).toBe(200)
    await mesh.kill9()
    await mesh.restart()
    await is(first, 'done')
    await is(second, 'done')
    const told = await eventually('the watcher was told', async () => {
      const found = (await mesh.runs()).filter(({ origin }) => origin.kind === 'watcher')
      return found.some(({ state }) => state === 'done') ? found : null
    })
    expect(told).toHaveLength(1)
    const worked = (await mesh.runs()).filter(({ task_id: taskId }) => [first, second].includes(taskId ?? ''))
    expect(new Set(worked.map(({ task_id: taskId }) => taskId))).toEqual(new Set([first, second]))
    expect(worked).toHaveLength(2)
    expect(await readFile(join(mesh.dataOf('left'), 'count.txt'), 'utf8')).toBe('once\n')
  })
})

describe('at the terminal', () => {
  it('tasks, projects and the blackboard are given, moved and read', async () => {
    const cli = (...words: readonly string[]) => flotilla({ url: mesh.url, home: mesh.home }, ...words)
    const good = async (...words: readonly string[]) => {
      const { code, out, err } = await cli(...words)
      expect(code, err).toBe(0)
      return out
    }
    const given = JSON.parse(await good('tasks', 'give', 'left', 'Ask', '--max-usd', '0.5', '--json')) as {
      task: { id: string }
    }
    const { id } = given.task
    await is(id, 'blocked')
    expect(await good('tasks', '--state', 'blocked')).toContain(id)
    expect(await good('tasks', 'show', id)).toMatch(/Which folder\?/)
    expect(await good('tasks', 'answer', id, 'the second')).toContain('is pending')
    await is(id, 'done')
    expect(await good('tasks', 'accept', id)).toContain('accepted')
    const late = await cli('tasks', 'cancel', id)
    expect([late.code, late.err]).toEqual([1, expect.stringContaining('the task is done')])
    expect(await good('projects', 'create', 'acme', 'left')).toContain('Members of acme: left.')
    expect(await good('projects', 'goal', 'acme', 'Know all.', '--criteria', 'a; b')).toContain('version 1')
    expect(await good('projects', 'write', 'acme', 'Plan', 'First this.')).toContain('version 1')
    const over = await cli('projects', 'write', 'acme', 'Plan', 'Unseen.', '--over', '0')
    expect(over.err).toContain('First this.')
    expect(await good('projects', 'show', 'acme')).toMatch(/Know all\.[\s\S]*First this\./)
    expect(await good('projects', 'create', 'globex', 'left', 'right')).toBe(
      'Members of globex: left, right.\nleft is moved here from acme.\n',
    )
    const back = JSON.parse(await good('projects', 'add', 'acme', 'left', '--json')) as object
    expect(back).toMatchObject({ members: ['left'], moved: [{ agent: 'left', from: 'globex' }] })
    expect(await good('projects', 'add', 'acme', 'left')).not.toContain('moved')
    await good('projects', 'archive', 'globex')
    await good('projects', 'delete', 'globex', '--yes')
    expect(await good('projects', 'archive', 'acme')).toContain('archived')
    expect(await good('projects')).toContain('acme (archived)')
    const unasked = await cli('projects', 'delete', 'acme')
    expect([unasked.code, unasked.err]).toEqual([2, expect.stringContaining('Add --yes.')])
    expect(await good('projects', 'delete', 'acme', '--yes')).toContain('acme is deleted.')
    expect(await good('projects')).toContain('No projects yet.')
    expect(await good('blackboard', 'watch', 'right', 'goals/**', '--tell', 'steer')).toContain('by a steer')
    expect(await good('blackboard', 'watches')).toMatch(/right +goals\/\*\* +steer/)
    expect(await good('blackboard', 'set', 'goals/week', '{"ship":1}', '--expect', '0')).toContain(
      'version 1',
    )
    expect((await cli('blackboard', 'set', 'goals/week', '2', '--expect', '0')).code).toBe(1)
    expect(await good('blackboard', 'get', 'goals/week')).toContain('"ship": 1')
    expect(await good('blackboard', 'delete', 'goals/week')).toContain('is deleted')
    expect(await good('blackboard', 'unwatch', 'right', 'goals/**')).toContain('no longer')
    expect(await good('blackboard', 'goals/')).toContain('Nothing there.')
  })
})

describe('a project', () => {
  it('a project is in the prompt’s folder of each member, also after a restart, and gone for who leaves', async () => {
    const params = { name: 'globex' }
    const change = (action: string, ...agents: string[]) =>
      mesh.call(projectHumanEndpoints.projectManage, { params, body: { action, agents } })
    expect((await change('create', 'left')).status).toBe(200)
    const text = { section: 'Customers', text: 'They are patient.', expected_version: 0 }
    expect((await mesh.call(projectHumanEndpoints.projectWrite, { params, body: text })).status).toBe(200)
    const brief = (agent: string) => {
      const folder = Buffer.from(agent, 'utf8').toString('hex')
      return readFile(join(mesh.home, 'data', 'briefs', folder, 'PROJECT.md'), 'utf8')
    }
    await mesh.ask('hello', { agent: 'left' })
    await mesh.ask('hello', { agent: 'right' })
    expect(await brief('left')).toContain('## Customers\n\nThey are patient.')
    expect(await brief('right')).toBe('')
    await mesh.kill9()
    await mesh.restart()
    await change('add_members', 'right')
    await change('remove_members', 'left')
    await eventually('the briefings follow', async () =>
      (await brief('right')).includes('They are patient.') && (await brief('left')) === '' ? true : null,
    )
  })
})
