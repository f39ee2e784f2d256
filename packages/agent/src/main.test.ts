import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { agentApi } from '@flotilla/protocol/agent-api'
import type { TaskResult } from '@flotilla/protocol/agent-api'
import { agentEndpoints } from '@flotilla/protocol/agent-endpoints'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentProgram } from '../../../tests/support/programs.ts'
import { verifies } from '../../../tests/verifies.ts'
import { doorToken, makeDataDirectory, startAgent } from './testing/agent-process.ts'
import type { TestAgent } from './testing/agent-process.ts'
import { modelAnswers, startFakeMesh } from './testing/fake-mesh.ts'
import type { FakeMesh, MeshAnswer, ScriptedAnswer } from './testing/fake-mesh.ts'

/** The program as `npm test` built it, or its sources if it was not built. */
const main = agentProgram()
const spawnMain = (environment: Record<string, string>): ChildProcess =>
  spawn(process.execPath, [main], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
const chat = (run: string, fence: number, message = 'hello') => ({
  run_id: run,
  fence,
  message,
  session: 'main',
})
const task = (run: string, fence: number, more: object = {}) => ({
  task_id: 'task_1',
  run_id: run,
  fence,
  task_type: 'count',
  input_data: { what: 'files' },
  context: {},
  timeout_s: 60,
  max_retries: 0,
  token_budget: null,
  ...more,
})
const command = (text: string): ScriptedAnswer => ({
  calls: [{ name: 'run_command', arguments: { command: text } }],
})
const result = (reply: { json(): Record<string, unknown> }): TaskResult =>
  agentApi.chat.response.parse(reply.json())

/** The messages of the last model call. */
function messagesOf(mesh: FakeMesh): readonly { role: string }[] {
  const body = mesh.requests.at(-1)?.body ?? { messages: [] }
  return (body as { messages: { role: string }[] }).messages
}

async function until(isTrue: () => boolean): Promise<void> {
  for (let waited = 0; !isTrue(); waited += 20) {
    if (waited > 10_000) throw new Error('it does not come')
    await new Promise((resolve) => {
      setTimeout(resolve, 20)
    })
  }
}

const complete: MeshAnswer = ({ path }) =>
  path === '/mesh/tasks/task_1/complete' ? { id: 'task_1' } : undefined
const given: MeshAnswer = ({ path }) => (path === '/mesh/tasks' ? { task_id: 'task_2' } : undefined)
const lease: MeshAnswer = ({ path }) => (path === '/mesh/lease' ? { lease_until: 0 } : undefined)
const refusedWith =
  (status: number, code: string): MeshAnswer =>
  ({ path }, response) => {
    if (path !== '/mesh/notify') return undefined
    response.writeHead(status, { 'content-type': 'application/problem+json' }).end(JSON.stringify({ code }))
    return undefined
  }

/** A mesh and an agent for one test, both ended after it. */
async function withFleet<T>(
  answers: readonly MeshAnswer[],
  use: (parts: { mesh: FakeMesh; agent: TestAgent }) => Promise<T>,
): Promise<T> {
  const mesh = await startFakeMesh(answers)
  const agent = await startAgent({ spawnMain, meshUrl: mesh.url })
  try {
    return await use({ mesh, agent })
  } finally {
    await agent.stop('SIGKILL')
    await mesh.close()
  }
}

describe('the API of a real agent process', () => {
  let mesh: FakeMesh
  let agent: TestAgent
  beforeAll(async () => {
    mesh = await startFakeMesh([modelAnswers([{ text: 'hello yourself' }])])
    agent = await startAgent({ spawnMain, meshUrl: mesh.url })
  })
  afterAll(async () => {
    await agent.stop('SIGKILL')
    await mesh.close()
  })

  const samples: Record<string, { path?: string; body?: unknown }> = {
    task: { body: task('run_2', 1) },
    chat: { body: chat('run_1', 2) },
    chatStream: { body: chat('run_1', 2) },
    chatSteer: {
      body: { run_id: 'run_404', fence: 2, steers: [{ id: 'steer_1', from: 'your user', text: 'x' }] },
    },
    chatReset: { body: { session: 'other' } },
    cancel: { body: { run_id: 'run_1', fence: 2 } },
    invoke: { body: { run_id: 'run_3', fence: 3, tool: 'list_files', params: {} } },
    heartbeat: { body: { run_id: 'run_1', fence: 2, message: 'look', continues: false } },
    frames: { path: '/frames?run_id=run_404' },
    result: { path: '/result?run_id=run_1&wait_s=0' },
    workspaceRead: { path: '/workspace/SOUL.md' },
    workspaceWrite: { path: '/workspace/SOUL.md', body: { content: 'kind' } },
    fileWrite: { path: '/files/up/load.bin', body: Buffer.from([1, 2, 3]) },
    fileRead: { path: '/files/up/load.bin' },
    fileList: { path: '/files?path=up' },
    memoryList: { path: '/memory?words=port&limit=10' },
    memoryForget: { path: '/memory/fact_404' },
  }
  const endpoints = Object.entries(agentEndpoints).map(([name, endpoint]) => ({
    name,
    ...endpoint,
    ...samples[name],
  }))

  test.each(endpoints.filter((endpoint) => endpoint.name !== 'healthz'))(
    '$method $path wants the mesh’s proof',
    async ({ method, path, body }) => {
      for (const proof of [
        null,
        'Bearer x.y',
        agent.key.proofFor('worker-2'),
        agent.key.proofFor('worker-1', -5),
      ]) {
        const reply = await agent.call(method, path, { body, proof })
        expect(reply.status).toBe(401)
        expect(reply.type).toBe('application/problem+json')
        expect(reply.json()).toMatchObject({ code: 'unauthenticated' })
      }
    },
  )

  test('an unknown path wants it too', async () => {
    expect((await agent.call('GET', '/nothing', { proof: null })).status).toBe(401)
    expect((await agent.call('GET', '/nothing')).status).toBe(404)
  })

  test('health is open', async () => {
    expect((await agent.call('GET', '/healthz', { proof: null })).json()).toEqual({ status: 'ok' })
  })

  test('frames of a run that is not going on are not found', async () => {
    expect((await agent.call('GET', '/frames?run_id=run_404')).json()).toMatchObject({ code: 'not-found' })
  })

  test('a picture that it never viewed is not found, nor any other file by that name', async () => {
    for (const name of ['a'.repeat(64), '..%2F..%2Fworkspace%2FSOUL.md', 'x']) {
      expect((await agent.call('GET', `/pictures/${name}`)).json()).toMatchObject({ code: 'not-found' })
    }
  })

  const otherwise = ['frames', 'pictureRead']
  test.each(endpoints.filter((endpoint) => !otherwise.includes(endpoint.name)))(
    '$method $path answers as agreed',
    async ({ name, method, path, body }) => {
      verifies('endpoints:agent:bodies')
      const reply = await agent.call(method, path, { body })
      expect(`${reply.status} ${reply.status === 200 ? '' : reply.body}`).toBe('200 ')
      const schema = Object.entries(agentApi).find(([known]) => known === name)?.[1]
      if (schema && 'response' in schema) schema.response.parse(reply.json())
      expect(name !== 'fileRead' || reply.body === '\u0001\u0002\u0003').toBe(true)
    },
  )

  test('the capabilities of an agent name the group of every tool of its own, as the specification does', async () => {
    const reply = agentApi.capabilities.response.parse((await agent.call('GET', '/capabilities')).json())
    const grouped = Object.fromEntries(reply.tools.map(({ name, group }) => [name, group]))
    expect(grouped).toMatchObject({ set_cron: 'mesh_tool', spawn_subagent: 'subagent_tool' })
    expect(Object.values(grouped)).not.toContain(null)
    const groups = Object.fromEntries((reply.groups ?? []).map(({ name, tools }) => [name, tools]))
    expect(groups['subagent_tool']).toEqual({
      spawn: 'spawn_subagent',
      list: 'list_subagents',
      wait: 'wait_for_subagent',
    })
    expect(groups['skill_tool']).toMatchObject({ create_skill: 'create_skill' })
    // A worker has no tools of the operator.
    expect(Object.keys(groups)).not.toEqual(expect.arrayContaining(['fleet_tool']))
  })

  test.each([
    ['broken JSON', '/chat', '{"run_id":', 400, 'bad-json'],
    ['what is not UTF-8', '/chat', Buffer.from([0x22, 0xff, 0x22]), 400, 'bad-json'],
    ['an unknown field', '/chat', { ...chat('run_8', 8), origin: 'human' }, 400, 'bad-request'],
    ['a missing field', '/task', { task_id: 'task_1' }, 400, 'bad-request'],
    ['an empty message', '/chat', chat('run_8', 8, ''), 400, 'bad-request'],
    ['a message too long', '/chat', chat('run_8', 8, 'x'.repeat(100_001)), 400, 'bad-request'],
    ['a body too long', '/chat', 'x'.repeat(1_100_000), 413, 'body-too-large'],
    ['a run id of another form', '/cancel', { run_id: '../x', fence: 1 }, 400, 'bad-request'],
  ])('%s is refused with its code', async (...[, path, body, status, code]) => {
    const reply = await agent.call('POST', path, { body })
    expect(reply.status).toBe(status)
    expect(reply.json()).toMatchObject({ code, repair: expect.any(String) as string })
  })

  test('the unknown field is named', async () => {
    const reply = await agent.call('POST', '/chat', { body: { ...chat('run_8', 8), origin: 'human' } })
    expect(reply.json()['detail']).toContain('origin')
  })

  test.each([
    '/files/../outside',
    '/files/%2e%2e/outside',
    '/files/.flotilla/x',
    '/files/workspace/SYSTEM.md',
    '/files/a%00b',
  ])('nothing is stored at %s', async (path) => {
    const reply = await agent.call('PUT', path, { body: Buffer.from('x') })
    expect(reply.json()).toMatchObject({ code: 'path-refused' })
  })

  test('a folder is listed without the agent’s own state, and none outside is', async () => {
    await agent.call('PUT', '/files/kept/note.md', { body: Buffer.from('x') })
    const list = async (path: string) =>
      (await agent.call('GET', `/files?path=${encodeURIComponent(path)}`)).json()
    expect(await list('kept')).toEqual({
      path: 'kept',
      entries: [{ name: 'note.md', kind: 'file', size_bytes: 1 }],
      more: false,
    })
    const { entries } = (await list('')) as { entries: { name: string }[] }
    expect(entries.map(({ name }) => name)).toContain('kept')
    expect(entries.map(({ name }) => name)).not.toContain('.flotilla')
    for (const path of ['..', '/etc', '.flotilla']) {
      expect(await list(path), path).toMatchObject({ code: 'path-refused' })
    }
  })

  test('a name that no fact can have is refused, and one that is not there is said to be so', async () => {
    expect((await agent.call('DELETE', '/memory/port')).json()).toMatchObject({ code: 'bad-request' })
    expect((await agent.call('DELETE', '/memory/fact_7')).json()).toEqual({ id: 'fact_7', was_there: false })
    expect((await agent.call('GET', '/memory?limit=1000')).json()).toMatchObject({ code: 'bad-request' })
  })

  test('the agent token is deleted from the disk, and appears in no log, file or program', async () => {
    expect(existsSync(join(agent.data, '.flotilla', 'door-token'))).toBe(false)
    await agent.call('POST', '/invoke', {
      body: {
        run_id: 'run_9',
        fence: 9,
        tool: 'run_command',
        params: { command: 'env; cat /proc/$PPID/environ' },
      },
    })
    const reply = await agent.call('GET', '/result?run_id=run_9&wait_s=10')
    expect(reply.json()).toMatchObject({ state: 'finished', result: { status: 'complete' } })
    expect(reply.body + agent.log()).not.toContain(doorToken)
    const files = readdirSync(agent.data, { recursive: true, encoding: 'utf8' }).map((name) =>
      join(agent.data, name),
    )
    for (const file of files.filter((name) => statSync(name).isFile())) {
      expect(readFileSync(file, 'utf8')).not.toContain(doorToken)
    }
  })
})

describe('a real agent process at work', () => {
  test('a turn calls the tools for real, and the next turn remembers it', async () => {
    const script = [
      command('echo $((6*7)) > answer; cat answer'),
      { text: 'It is 42.' },
      { text: 'As I said.' },
    ]
    await withFleet([modelAnswers(script)], async ({ mesh, agent }) => {
      const first = result(await agent.call('POST', '/chat', { body: chat('run_1', 1) }))
      expect(first).toMatchObject({
        status: 'complete',
        response: 'It is 42.',
        tokens_used: 30,
        cost_usd: 0.002,
      })
      expect(first.tool_outputs[0]?.output).toBe('exit code 0\n42\n')
      expect(readFileSync(join(agent.data, 'answer'), 'utf8')).toBe('42\n')
      await agent.call('POST', '/chat', { body: chat('run_2', 2, 'again?') })
      expect(messagesOf(mesh).map((message) => message.role)).toEqual([
        'system',
        'user',
        'user',
        'assistant',
        'tool',
        'assistant',
        'user',
        'user',
      ])
    })
  })

  test('a chat turn has thirty rounds by default, and then one answer without tools', async () => {
    verifies('limits:chat-rounds-per-turn')
    const script = Array.from({ length: 40 }, (_, round) => ({ ...command(`echo ${round}`), text: 'more' }))
    await withFleet([modelAnswers(script)], async ({ mesh, agent }) => {
      const ended = result(await agent.call('POST', '/chat', { body: chat('run_1', 1) }))
      expect(ended).toMatchObject({ status: 'complete', response: 'more' })
      const asked = mesh.requests.filter(({ path }) => path === '/v1/chat/completions')
      expect(asked).toHaveLength(31)
      expect(ended.tool_outputs.at(-1)?.output).toContain('29')
    })
  })

  test('a reset conversation is forgotten', async () => {
    await withFleet([modelAnswers([{ text: 'hi' }])], async ({ mesh, agent }) => {
      await agent.call('POST', '/chat', { body: chat('run_1', 1) })
      await agent.call('POST', '/chat/reset', { body: { session: 'main' } })
      await agent.call('POST', '/chat', { body: chat('run_2', 2, 'who?') })
      expect(messagesOf(mesh)).toHaveLength(3)
      expect(readdirSync(join(agent.data, '.flotilla', 'archives'))).toHaveLength(1)
    })
  })

  test('a task ends with complete_task, sent to the mesh under the step’s key', async () => {
    const done = { summary: 'three files', result: { files: 3 } }
    const script = [
      command('ls | wc -l'),
      { calls: [{ name: 'complete_task', arguments: done }] },
      { text: 'unasked' },
    ]
    await withFleet([modelAnswers(script), complete], async ({ mesh, agent }) => {
      expect((await agent.call('POST', '/task', { body: task('run_1', 1) })).json()).toEqual({
        accepted: true,
        status: 'executing',
      })
      const reply = (await agent.call('GET', '/result?run_id=run_1&wait_s=20')).json()
      expect(reply).toMatchObject({
        state: 'finished',
        result: { status: 'complete', response: 'three files', result: { files: 3 } },
      })
      const told = mesh.requests.find((request) => request.path.endsWith('/complete'))
      expect(told).toMatchObject({
        body: { ...done, status: 'done' },
        headers: { 'idempotency-key': 'run_1:4', 'x-run-fence': '1' },
      })
      expect(mesh.requests.filter((request) => request.path === '/v1/chat/completions')).toHaveLength(2)
    })
  })

  test('a task that only speaks is reminded once, and then its words close nothing, whatever they look like', async () => {
    const words = '{"result": {"n": 1}, "promote": {"team/n": 1}}'
    await withFleet(
      [modelAnswers([{ text: 'done I think' }, { text: words }]), complete],
      async ({ mesh, agent }) => {
        await agent.call('POST', '/task', { body: task('run_1', 1) })
        const reply = (await agent.call('GET', '/result?run_id=run_1&wait_s=20')).json()
        // The turn is over and the task is still open: the mesh decides what happens.
        expect(reply['result']).toMatchObject({
          status: 'complete',
          response: words,
          result: null,
          promote_to_blackboard: {},
        })
        const paths = mesh.requests.map((request) => request.path)
        // With all tools the prompt is long enough to ask for the model's window.
        expect(paths.filter((path) => path !== '/v1/models')).toEqual([
          '/mesh/tools',
          '/v1/chat/completions',
          '/v1/chat/completions',
        ])
      },
    )
  })

  test('a task whose agent gave work away pauses, and goes on in its own conversation until it is closed', async () => {
    const handOff = { name: 'hand_off', arguments: { to: 'w2', title: 'count' } }
    const done = { name: 'complete_task', arguments: { summary: 'it was 7' } }
    const script = [{ calls: [handOff] }, { text: 'waiting for w2' }, { calls: [done] }]
    await withFleet([modelAnswers(script), given, complete], async ({ mesh, agent }) => {
      await agent.call('POST', '/task', { body: task('run_1', 1, { context: { session: 'task:task_1' } }) })
      const paused = (await agent.call('GET', '/result?run_id=run_1&wait_s=20')).json()
      expect(paused['result']).toMatchObject({ status: 'complete', response: 'waiting for w2', result: null })
      expect(mesh.requests.map((request) => request.path)).not.toContain('/mesh/tasks/task_1/complete')

      const news = { ...chat('run_1', 2, 'Task task_2 is done: 7'), session: 'task:task_1' }
      const ended = result(await agent.call('POST', '/chat', { body: news }))
      expect(ended).toMatchObject({ status: 'complete', response: 'it was 7', task_id: 'task_1', fence: 2 })
      const told = mesh.requests.at(-1)
      expect(told).toMatchObject({ path: '/mesh/tasks/task_1/complete' })
      const keys = mesh.requests.map((request) => request.headers['idempotency-key']).filter(Boolean)
      expect(new Set(keys).size).toBe(keys.length)
    })
  })

  test('a task that takes too long is a timeout', async () => {
    await withFleet([modelAnswers([command('sleep 30')])], async ({ agent }) => {
      await agent.call('POST', '/task', { body: task('run_1', 1, { timeout_s: 1 }) })
      const reply = (await agent.call('GET', '/result?run_id=run_1&wait_s=20')).json()
      expect(reply).toMatchObject({
        state: 'finished',
        result: { status: 'timeout', error: { code: 'expired' } },
      })
    })
  })

  test('a client that goes away does not end the run', async () => {
    await withFleet(
      [modelAnswers([command('sleep 1; echo late'), { text: 'there' }]), lease],
      async ({ agent }) => {
        const controller = new AbortController()
        const gone = fetch(`http://127.0.0.1:${agent.port}/chat/stream`, {
          method: 'POST',
          headers: { authorization: agent.key.proofFor(agent.id) },
          body: JSON.stringify(chat('run_1', 1)),
          signal: controller.signal,
        })
        await (await gone).body?.getReader().read()
        controller.abort()
        const reply = (await agent.call('GET', '/result?run_id=run_1&wait_s=20')).json()
        expect(reply).toMatchObject({ state: 'finished', result: { response: 'there' } })
      },
    )
  })

  test('cancelling stops the program that runs', async () => {
    await withFleet([modelAnswers([command('echo $$ > pid; sleep 60')])], async ({ agent }) => {
      const answer = agent.call('POST', '/chat', { body: chat('run_1', 1) })
      await until(() => existsSync(join(agent.data, 'pid')))
      expect((await agent.call('POST', '/cancel', { body: { run_id: 'run_1', fence: 1 } })).json()).toEqual({
        cancelled: true,
      })
      expect(result(await answer)).toMatchObject({ status: 'cancelled', error: { code: 'cancelled' } })
      const pid = readFileSync(join(agent.data, 'pid'), 'utf8').trim()
      await until(() => !existsSync(`/proc/${pid}`))
    })
  })

  test.each([
    [409, 'stale-fence'],
    // The mesh has started the agent anew, so the token of this process is no longer valid.
    [401, 'unauthenticated'],
  ])('a run that the mesh refuses with %d (%s) stops and leaves no outcome', async (status, code) => {
    const script = [{ calls: [{ name: 'notify_user', arguments: { message: 'x' } }] }, { text: 'never' }]
    await withFleet([modelAnswers(script), refusedWith(status, code)], async ({ agent }) => {
      const ended = result(await agent.call('POST', '/chat', { body: chat('run_1', 1) }))
      expect(ended).toMatchObject({ status: 'cancelled', error: { code: 'stale-fence' } })
      expect((await agent.call('GET', '/result?run_id=run_1')).json()).toEqual({ state: 'unknown' })
    })
  })

  test.each(['SIGKILL', 'SIGTERM'] as const)(
    'a run cut off by %s goes on where it was',
    async (signalName) => {
      const script = [
        command('echo once >> log'),
        command('echo twice >> log; sleep 60'),
        { text: 'went on' },
      ]
      const mesh = await startFakeMesh([modelAnswers(script)])
      const first = await startAgent({ spawnMain, meshUrl: mesh.url })
      const cut = first.call('POST', '/chat', { body: chat('run_1', 1) }).catch(() => null)
      const log = join(first.data, 'log')
      await until(() => existsSync(log) && readFileSync(log, 'utf8').includes('twice'))
      const code = await first.stop(signalName)
      await cut
      expect(code).toBe(signalName === 'SIGTERM' ? 0 : null)

      const second = await startAgent({ spawnMain, meshUrl: mesh.url, data: first.data, key: first.key })
      expect((await second.call('GET', '/status')).json()).toMatchObject({
        has_checkpoint: true,
        state: 'idle',
      })
      const ended = result(await second.call('POST', '/chat', { body: chat('run_1', 2) }))
      await second.stop('SIGKILL')
      await mesh.close()
      expect(ended).toMatchObject({ status: 'complete', response: 'went on', fence: 2 })
      expect(ended.tool_outputs.map((output) => output.ok)).toEqual([true, false])
      expect(ended.tool_outputs[1]?.output).toContain('outcome-unknown')
      expect(readFileSync(log, 'utf8')).toBe('once\ntwice\n')
    },
  )
})

const environment = (data: string) => ({
  FLOTILLA_AGENT_ID: 'w',
  FLOTILLA_AGENT_KIND: 'worker',
  FLOTILLA_MESH_URL: 'http://127.0.0.1:9',
  FLOTILLA_MODEL: 'm',
  FLOTILLA_MESH_PUBLIC_KEY: 'A'.repeat(43),
  FLOTILLA_PORT: '0',
  FLOTILLA_DATA: data,
})

describe('starting', () => {
  test('an agent without its token ends with the reason', () => {
    const ended = spawnSync(process.execPath, [main], {
      env: environment(makeDataDirectory()),
      encoding: 'utf8',
    })
    expect(ended.status).toBe(1)
    expect(ended.stdout).toContain('door token')
  })

  test('an agent with a wrong setting ends with its name, and the token stays for the next start', () => {
    const data = makeDataDirectory()
    mkdirSync(join(data, '.flotilla'))
    writeFileSync(join(data, '.flotilla', 'door-token'), 'x')
    const env = { ...environment(data), FLOTILLA_AGENT_KIND: 'boss' }
    const ended = spawnSync(process.execPath, [main], { env, encoding: 'utf8' })
    expect(ended.status).toBe(1)
    expect(ended.stdout).toContain('FLOTILLA_AGENT_KIND')
    expect(existsSync(join(data, '.flotilla', 'door-token'))).toBe(true)
  })
})
