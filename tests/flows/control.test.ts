import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { controlApi, controlEndpoints } from '@flotilla/protocol/control-api'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla as ask } from '../support/flotilla-command.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { expectProblem } from '../support/problem-matcher.ts'
import { heedsLesson, verifies } from '../verifies.ts'

const remove = (agent: string) => ({
  agent_kind: 'operator' as const,
  when: `^remove ${agent}$`,
  turns: [calls('delete_agent', { agent_id: agent, reason: 'no longer needed' }), says('It waits for you.')],
})
const edits = (when: string, value: JsonObject) => ({
  agent_kind: 'operator' as const,
  when: `^${when}$`,
  turns: [
    calls('edit_agent', { agent_id: 'edited', ...value }),
    says('{{how}}', { capture: { how: '^([^]{1,800})' } }),
  ],
})
const cassette = aCassette(
  {
    agent_kind: 'operator',
    when: 'What you asked a person for',
    turns: [says('It is {{end}}.', { capture: { end: '\\) is (\\w+)\\.' } })],
  },
  remove('doomed'),
  remove('spared'),
  remove('later'),
  edits('texts', { field: 'SOUL.md', value: 'Be exact.' }),
  edits('model', { field: 'model', value: 'scripted/second' }),
  edits('spawn', { field: 'permissions', value: { can_spawn: true } }),
  edits('yourself', { agent_id: 'operator', field: 'role', value: 'king' }),
  { turns: [says('Yes.')] },
)
const second = aCassette({ turns: [says('Yes from the second.')] })

let mesh: MeshProcess
let permissionsPath: string

beforeAll(async () => {
  mesh = await startMesh({ cassettes: { first: cassette, second } })
  permissionsPath = join(mesh.home, 'config', 'permissions.json')
  for (const id of ['edited', 'doomed', 'spared', 'later', 'grown']) await mesh.createWorker(id)
})
afterAll(() => mesh.stop())
beforeEach(() => mesh.restartIfStopped())

/** Runs a command as a person does; returns its exit code and both outputs. */
const flotilla = (...words: string[]) => ask(mesh, ...words)

async function pendingAbout(subject: string) {
  const reply = await mesh.call(controlEndpoints.pending)
  return controlApi.pending.response.parse(reply.json()).pending.find((one) => one.subject === subject)
}

const recordOf = async (id: string) =>
  controlApi.agentConfig.response.parse(
    (await mesh.call(controlEndpoints.agentConfig, { params: { id } })).json(),
  ).permissions

describe('permissions through the people’s API', () => {
  it('permissions through the people’s API lose nothing when fifty edits come at once, nor a hand before or after them', async () => {
    heedsLesson(33)
    const grow = (index: number) =>
      mesh.call(controlEndpoints.agentEdit, {
        params: { id: 'grown' },
        body: { field: 'permissions', value: { add: { can_message: [`agent-${index}`] } } },
      })
    const text = await readFile(permissionsPath, 'utf8')
    await writeFile(permissionsPath, text.replace('"permissions": {', '"permissions": {\n    "by-hand": {},'))
    const replies = await Promise.all(Array.from({ length: 50 }, (_, index) => grow(index)))
    expect(replies.map((reply) => reply.status)).toEqual(replies.map(() => 200))
    expect((await recordOf('grown'))?.can_message).toHaveLength(51)
    expect(await readFile(permissionsPath, 'utf8')).toContain('"by-hand"')
  })

  it('permissions through the people’s API are explained by the line that decides', async () => {
    const lines = (await readFile(permissionsPath, 'utf8')).split('\n')
    const allowed = await flotilla(
      'permissions',
      'explain',
      'edited',
      'write-blackboard',
      'output/x',
      '--json',
    )
    const told = JSON.parse(allowed.out) as { allowed: boolean; line: number }
    expect(told).toMatchObject({ allowed: true, field: 'blackboard_write' })
    expect(lines[told.line - 1]).toContain('output/**')

    const denied = await flotilla('permissions', 'explain', 'edited', 'spawn-agent')
    expect(denied.code).toBe(4)
    expect(denied.out).toMatch(
      /denied: can_spawn is not set\n\s+by config\/permissions\.json:\d+ \(can_spawn\)/,
    )
    expect(denied.out).toContain('flotilla permissions set edited can_spawn=true')

    const program = await flotilla(
      'permissions',
      'explain',
      'edited',
      'message-agent',
      'operator',
      '--as',
      'program',
    )
    expect(program.out).toContain('denied: the token of a program')
    const nobody = await flotilla('permissions', 'explain', 'operator', 'message-agent', 'eddited')
    expect(nobody).toMatchObject({ code: 1, out: '' })
    expect(nobody.err).toContain('there is no agent eddited; did you mean edited?')

    const unknown = await flotilla('permissions', 'explain', 'edited', 'fly')
    expect(unknown.err).toContain('spend-from-wallet')
    const mistyped = await flotilla('permissions', 'explain', 'edited', 'write-blackbord', 'notes/x')
    expect(mistyped.err).toContain('there is no action write-blackbord; did you mean write-blackboard?')
  })

  it('permissions through the people’s API say what the guard says, also when the file is broken', async () => {
    const whole = await readFile(permissionsPath, 'utf8')
    await writeFile(permissionsPath, whole.replace('"can_message"', 'can_message'))
    const broken = await eventually(
      'the explanation names the fault',
      async () => {
        const { out } = await flotilla('permissions', 'explain', 'edited', 'call-api', 'llm')
        return out.includes('agents are denied everything') ? out : null
      },
      20_000,
    )
    expect(broken).toMatch(/permissions\.json:\d+/)
    const edit = await flotilla('permissions', 'set', 'edited', 'can_manage_cron=true')
    expect(edit.err).toContain('correct the file by hand')
    await writeFile(permissionsPath, whole)
    await eventually('ready again', async () =>
      (await mesh.call(meshHumanEndpoints.readyz)).status === 200 ? true : null,
    )
  })

  it('spawn and wallet rights are granted only after a person confirms twice', async () => {
    verifies('authentication:ceiling:human')
    const asked = await flotilla('permissions', 'set', 'edited', 'can_spawn=true')
    expect(asked.code).toBe(2)
    expect(asked.err).toContain('Add --yes')
    expect((await recordOf('edited'))?.can_spawn).toBe(false)
    const given = await flotilla('permissions', 'set', 'edited', 'can_spawn=true', '--yes')
    expect(given.out).toContain('flotilla undo change_')
    expect((await recordOf('edited'))?.can_spawn).toBe(true)
    expect((await flotilla('undo', '--yes')).out).toContain('is restored')
    expect((await recordOf('edited'))?.can_spawn).toBe(false)
  })
})

describe('the operator', () => {
  it('the operator changes a text at once; a person undoes it, once', async () => {
    const said = await mesh.ask('texts', { session: 'texts' })
    const token = /change_[0-9a-f]+/.exec(said.outcome?.text ?? '')?.[0] ?? ''
    const soul = () => readFile(join(mesh.dataOf('edited'), 'workspace', 'SOUL.md'), 'utf8')
    expect(await soul()).toBe('Be exact.')
    expect((await flotilla('undo', token)).code).toBe(0)
    expect(await soul()).not.toContain('exact')
    expect((await flotilla('undo', token)).err).toContain('undo-used')
  })

  it('the operator gives a worker another model, from its next run on', async () => {
    expect((await mesh.ask('hi', { agent: 'edited' })).outcome?.text).toBe('Yes.')
    expect((await mesh.ask('model', { session: 'model' })).state).toBe('done')
    expect((await mesh.ask('hi', { agent: 'edited', session: 'again' })).outcome?.text).toBe(
      'Yes from the second.',
    )
  })

  it('the operator is refused a right that only a person may grant, and no approval is created', async () => {
    heedsLesson(6)
    verifies('errors:ceiling:spawn-refused')
    const said = await mesh.ask('spawn', { session: 'spawn' })
    expect(said.outcome?.text).toContain('human-only')
    expect((await recordOf('edited'))?.can_spawn).toBe(false)
    expect((await mesh.call(controlEndpoints.pending)).json()).toEqual({ pending: [] })
  })

  it('the operator cannot change itself', async () => {
    heedsLesson(124)
    const said = await mesh.ask('yourself', { session: 'yourself' })
    expect(said.outcome?.text).toContain('denied')
  })
})

describe('a deletion that the operator asks for', () => {
  it('a deletion that the operator asks for waits with its run, happens once when a person confirms it, and the run goes on with that', async () => {
    const runId = await mesh.submit('remove doomed', { session: 'doomed' })
    const waiting = await eventually('it waits', async () => {
      const view = await mesh.run(runId)
      return view.state === 'waiting' ? view : null
    })
    const one = await pendingAbout('doomed')
    expect(waiting.waiting_on).toEqual([one?.id])
    expect((await flotilla('pending')).out).toContain('All its files below /data')

    const id = one?.id ?? ''
    expect((await flotilla('confirm', id)).err).toContain('Add --yes')
    expectProblem(
      await mesh.call(controlEndpoints.pendingConfirm, { params: { id }, body: { digest: '0'.repeat(64) } }),
      'approval-changed',
    )
    const done = await flotilla('confirm', id, '--yes')
    expect(done.out).toContain('is done: Agent doomed was deleted')
    expect((await mesh.ended(runId)).outcome).toMatchObject({ status: 'done', text: 'It is done.' })
    expectProblem(
      await mesh.call(controlEndpoints.pendingConfirm, { params: { id }, body: { digest: one?.digest } }),
      'approval-used',
    )
    expectProblem(
      await mesh.call(controlEndpoints.agentConfig, { params: { id: 'doomed' } }),
      'unknown-agent',
    )
    expect(await readFile(permissionsPath, 'utf8')).not.toContain('"doomed"')
  })

  it('a deletion requested by the operator is dropped when a person cancels it, and the run is notified', async () => {
    const runId = await mesh.submit('remove spared', { session: 'spared' })
    const one = await eventually('it waits', () => pendingAbout('spared').then((found) => found ?? null))
    expect((await flotilla('cancel', one.id)).out).toContain('it will not be carried out')
    expect((await mesh.ended(runId)).outcome?.text).toBe('It is cancelled.')
    expect((await recordOf('spared'))?.can_message).toEqual(['operator'])
  })

  it('a deletion that the operator asks for is there after the mesh was killed, and can be confirmed then', async () => {
    const runId = await mesh.submit('remove later', { session: 'later' })
    const one = await eventually('it waits', () => pendingAbout('later').then((found) => found ?? null))
    await mesh.kill9()
    await mesh.restart()
    const confirmed = await mesh.call(controlEndpoints.pendingConfirm, {
      params: { id: one.id },
      body: { digest: one.digest },
    })
    expect(confirmed.json()).toMatchObject({ state: 'done', args: { agent_id: 'later' } })
    expect((await mesh.ended(runId)).outcome?.text).toBe('It is done.')
  })
})

describe('a deletion by a person', () => {
  it('a deletion by a person takes data, permissions and changes with it; a new agent of that name begins empty', async () => {
    heedsLesson(10, 98)
    await mesh.createWorker('gone')
    await mesh.invoke('gone', 'write_file', { path: 'secret.txt', content: 'x' })
    await flotilla('edit', 'gone', 'role', 'Something else.')
    expect((await flotilla('delete', 'gone')).err).toContain('Add --yes')
    expect((await flotilla('delete', 'gone', '--yes')).out).toContain('gone is deleted')
    expect((await flotilla('delete', 'gone', '--yes')).err).toContain('unknown-agent')
    await mesh.createWorker('gone')
    const listed = await mesh.invoke('gone', 'list_files', {})
    expect(JSON.stringify(listed.outcome?.result)).not.toContain('secret.txt')
    expect((await flotilla('changes', '--agent', 'gone', '--json')).out.trim()).toBe('{"changes":[]}')
    expect((await recordOf('gone'))?.can_message).toEqual(['operator'])
  })
})
