import { existsSync } from 'node:fs'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { replayApi, replayEndpoints } from '@flotilla/protocol/replay-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aCassette, calls, operatorHandsOff, runs, says } from '../support/cassettes.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { eventually } from '../support/eventually.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'

const secret = 'sk-very-secret-value-0123456789'

const first = aCassette(
  {
    agents: ['counter'],
    when: '^count (.*)$',
    turns: [
      runs('echo run >> effects.txt; wc -l < effects.txt | sed s/^/lines:/', { content: 'I count.' }),
      calls(
        'write_blackboard',
        { key: 'output/count', value: { lines: '{{lines}}' } },
        { capture: { lines: 'lines: ?(\\d+)' } },
      ),
      says('There are {{lines}} lines.'),
    ],
  },
  { agents: ['counter'], when: '^tell ', turns: [runs('echo the key is $KEY'), says('I told nobody.')] },
  {
    agents: ['counter'],
    when: '^remember',
    turns: [says('I remember the word {{word}}.', { capture: { word: 'remember (\\w+)' } })],
  },
  { agents: ['counter'], when: '^which word', turns: [says('The word of before.')] },
  ...operatorHandsOff({ when: '^give it', to: 'counter', title: 'Count them', answer: 'Done by another.' }),
  ...operatorHandsOff({ when: '^remind', to: 'counter', title: 'Talk first', answer: 'Reminded.' }),
  { agents: ['counter'], when: '^Task [^]*Talk first', turns: [says('All counted.')] },
  {
    agents: ['counter'],
    when: '^The task is still open',
    turns: [calls('complete_task', { summary: 'closed when reminded' })],
  },
  { agents: ['counter'], when: '^Task ', turns: [calls('complete_task', { summary: 'counted' })] },
)
const other = aCassette(
  {
    agents: ['counter'],
    when: '^count ',
    turns: [
      says('never asked'),
      runs('echo other >> effects.txt; wc -l < effects.txt | sed s/^/lines:/'),
      says('The other one counts {{lines}}.', { capture: { lines: 'lines: ?(\\d+)' } }),
    ],
  },
  { agents: ['counter'], when: '^which word', turns: [says('The other one was told.')] },
  {
    agents: ['counter'],
    when: '^The task is still open',
    turns: [says('The other one was reminded.')],
  },
)

const preload = pathToFileURL(join(repositoryRoot, 'tests', 'support', 'kill-at-row.mjs')).href

let mesh: MeshProcess
let arm: string
beforeAll(async () => {
  arm = join(await mkdtemp(join(tmpdir(), 'arm-')), 'armed')
  mesh = await startMesh({
    cassettes: { first, other },
    environment: {
      FLOTILLA_CRED_BANK: secret,
      NODE_OPTIONS: `--import=${preload}`,
      KILL_WHEN_ARMED: arm,
    },
  })
  await mesh.createWorker('counter')
})
afterAll(() => mesh?.stop())

async function record(id: string) {
  const reply = await mesh.call(replayEndpoints.runRecord, { params: { id } })
  expect(reply.status, reply.text).toBe(200)
  return replayApi.runRecord.response.parse(reply.json())
}

async function played(id: string, turn = 1) {
  const reply = await mesh.call(replayEndpoints.runReplay, { params: { id }, body: { turn } })
  expect(reply.status, reply.text).toBe(200)
  const { run, turns } = replayApi.runReplay.response.parse(reply.json())
  const ended = await mesh.ended(run.id)
  return { ended, turns, comparison: await comparison(run.id) }
}

async function comparison(id: string) {
  const reply = await mesh.call(replayEndpoints.runComparison, { params: { id } })
  expect(reply.status, reply.text).toBe(200)
  return replayApi.runComparison.response.parse(reply.json())
}

async function forked(id: string, body: object) {
  const reply = await mesh.call(replayEndpoints.runFork, { params: { id }, body })
  expect(reply.status, reply.text).toBe(200)
  const { run } = replayApi.runFork.response.parse(reply.json())
  return mesh.ended(run.id)
}

const effects = () => readFile(join(mesh.dataOf('counter'), 'effects.txt'), 'utf8')
const cli = (...words: string[]) => flotilla({ url: mesh.url, home: mesh.home }, ...words)

async function countOnce(): Promise<string> {
  const run = await mesh.ask('count them', { agent: 'counter', session: `s${Math.random()}` })
  expect(run.outcome?.status, JSON.stringify(run.outcome)).toBe('done')
  return run.id
}

describe('the record of a run', () => {
  it('the record of a run has each answer, each call and what it returned', async () => {
    const { steps, turns, cut } = await record(await countOnce())
    expect(cut).toBeNull()
    expect(turns).toEqual([{ turn: 1, asked: 'count them' }])
    expect(steps.map(({ step, text, calls: made }) => [step, text, made.map(({ tool }) => tool)])).toEqual([
      [1, 'I count.', ['run_command']],
      [2, '', ['write_blackboard']],
      [3, expect.stringMatching(/^There are \d+ lines\.$/), []],
    ])
    expect(steps[0]?.calls[0]?.result).toMatch(/lines: ?\d/)
  })

  it('the record of a run holds no secret, whether the mesh knows it or it only looks like one', async () => {
    const run = await mesh.ask(`tell nobody ${secret} or sk-unknown-1234567890abcdef`, {
      agent: 'counter',
      session: 'secret',
    })
    const kept = JSON.stringify(await record(run.id))
    expect(kept).toContain('[secret]')
    expect(kept).not.toContain(secret)
    expect(kept).not.toContain('sk-unknown-1234567890abcdef')
    const database = new DatabaseSync(join(mesh.home, 'data', 'mesh.db'), { readOnly: true })
    const rows = database.prepare('SELECT news, answer FROM run_exchanges').all()
    database.close()
    expect(JSON.stringify(rows)).not.toContain(secret)
  })
})

describe('the record of a run whose answer the mesh had heard and not written when it was killed', () => {
  it('the record of a run whose answer the mesh had received and not written when it was killed says that it is incomplete, and the run itself ends as usual', async () => {
    await writeFile(arm, 'before INSERT INTO run_exchanges')
    const id = await mesh.submit('count them', { agent: 'counter', key: 'killed' })
    await eventually('the mesh is killed', async () => !existsSync(arm) || null)
    await mesh.kill9().catch(() => undefined)
    await mesh.restart()
    const ended = await mesh.ended(id)
    expect(ended.outcome).toMatchObject({
      status: 'done',
      text: expect.stringMatching(/^There are \d+ lines/),
    })
    const { cut, steps } = await record(id)
    expect(cut).toContain('the mesh was stopped before it had stored a model answer')
    expect(steps.at(-1)?.text).toBe(ended.outcome?.text)
    const { code, err } = await cli('replay', id)
    expect(code).not.toBe(0)
    expect(err).toContain('is incomplete: the mesh was stopped')
    // A later run has a complete record again.
    expect((await record(await countOnce())).cut).toBeNull()
  })
})

describe('a run that is played again', () => {
  it('a run that is played again makes the same calls and has the same end, and does nothing a second time', async () => {
    const id = await countOnce()
    const before = await effects()
    const { ended, turns, comparison: compared } = await played(id)
    expect(await effects()).toBe(before)
    expect(turns).toBe(1)
    expect(ended.id).not.toBe(id)
    expect(ended.outcome).toEqual((await mesh.run(id)).outcome)
    expect(compared, JSON.stringify(compared)).toMatchObject({
      kind: 'replay',
      of_run: id,
      steps: 3,
      calls: 2,
      same: true,
      differences: [],
    })
    expect(ended.cost_usd).toBe(0)
    const entries = meshHumanApi.blackboard.response.parse(
      (await mesh.call(meshHumanEndpoints.blackboard, { query: { prefix: 'output/count' } })).json(),
    ).entries
    expect(entries[0]?.version).toBe(before.split('\n').length - 1)
  })

  it('a run that waited for others is replayed turn by turn, and the work of others is not repeated', async () => {
    const run = await mesh.ask('give it away', { session: 'handoff' })
    expect(run.outcome?.text).toBe('Done by another.')
    const tasks = (await mesh.tasks()).length
    const one = await played(run.id, 1)
    expect(one.turns).toBe(2)
    expect(one.comparison, JSON.stringify(one.comparison)).toMatchObject({ same: true, turn: 1, calls: 1 })
    const two = await played(run.id, 2)
    expect(two.comparison, JSON.stringify(two.comparison)).toMatchObject({ same: true, turn: 2 })
    expect(two.ended.outcome?.text).toBe('Done by another.')
    expect((await mesh.tasks()).length).toBe(tasks)
  })

  it('the replay of a task ends where the task was completed', async () => {
    const task = (await mesh.runs()).find(
      ({ kind, agent_id: agent }) => kind === 'task' && agent === 'counter',
    )
    const { ended, comparison: compared } = await played(task!.id)
    expect(ended.outcome).toMatchObject({ status: 'done', text: 'counted' })
    // A chat turn gets no reminder of a task; there is no other difference.
    expect(compared).toMatchObject({ calls: 1, same: true })
    expect(compared.differences.map(({ what }) => what)).toEqual(['prompt'])
  })

  it('the replay of a task whose agent was reminded to close it continues as the original did', async () => {
    const run = await mesh.ask('remind it', { session: 'reminded' })
    expect(run.outcome?.text).toBe('Reminded.')
    const task = (await mesh.runs()).find(({ outcome }) => outcome?.text === 'closed when reminded')
    expect((await record(task!.id)).steps.map(({ text }) => text)).toEqual(['All counted.', ''])
    const { ended, comparison: compared } = await played(task!.id)
    expect(ended.outcome).toEqual(task!.outcome)
    expect(compared, JSON.stringify(compared)).toMatchObject({ steps: 2, calls: 1, same: true })
    // The model that continues from this step reads the reminder too.
    const fork = await forked(task!.id, { model: 'scripted/other', step: 2 })
    expect(fork.outcome?.text).toBe('The other one was reminded.')
  })

  it('a run that is played again says what its agent is refused today', async () => {
    const id = await countOnce()
    const permissions = join(mesh.home, 'config', 'permissions.json')
    const whole = await readFile(permissions, 'utf8')
    const changed = JSON.parse(whole) as { permissions: Record<string, { blackboard_write: string[] }> }
    changed.permissions['counter']!.blackboard_write = []
    await writeFile(permissions, JSON.stringify(changed))
    await expect
      .poll(
        async () => (await cli('permissions', 'explain', 'counter', 'write-blackboard', 'output/count')).code,
      )
      .toBe(4)
    const { comparison: compared } = await played(id)
    await writeFile(permissions, whole)
    await expect
      .poll(
        async () => (await cli('permissions', 'explain', 'counter', 'write-blackboard', 'output/count')).code,
      )
      .toBe(0)
    expect(compared.differences.map(({ what }) => what)).toEqual(expect.arrayContaining(['tools']))
    expect(compared.differences.find(({ what }) => what === 'tools')?.detail).toContain('write_blackboard')
  })

  it('a run that is played again goes on after the mesh was killed', async () => {
    const id = await countOnce()
    const before = await effects()
    const reply = await mesh.call(replayEndpoints.runReplay, { params: { id }, body: {} })
    const { run } = replayApi.runReplay.response.parse(reply.json())
    await mesh.kill9()
    await mesh.restart()
    expect((await mesh.ended(run.id)).outcome).toEqual((await mesh.run(id)).outcome)
    expect(await comparison(run.id)).toMatchObject({ same: true })
    expect(await effects()).toBe(before)
  })

  it('a run that is played again is refused for a run that is not there, called no model, or has no such turn', async () => {
    const refused = async (id: string, body: object = {}) =>
      (await mesh.call(replayEndpoints.runReplay, { params: { id }, body })).json()
    expect(await refused('run_0')).toMatchObject({ code: 'not-found' })
    const lone = await mesh.invoke('counter', 'list_files', {})
    expect(await refused(lone.id)).toMatchObject({
      code: 'not-found',
      detail: expect.stringContaining('called no model'),
    })
    expect(await refused(await countOnce(), { turn: 2 })).toMatchObject({ code: 'not-found' })
  })
})

describe('a fork', () => {
  it('a fork keeps the steps before and lets the other model do the rest for real', async () => {
    const id = await countOnce()
    const before = await effects()
    const ended = await forked(id, { model: 'scripted/other', step: 2 })
    const lines = before.split('\n').length
    expect(ended.outcome?.text, JSON.stringify(ended.outcome)).toBe(`The other one counts ${lines}.`)
    expect(await effects()).toBe(`${before}other\n`)
    const compared = await comparison(ended.id)
    expect(compared).toMatchObject({ kind: 'fork', model: 'scripted/other', same: false })
    expect(compared.differences.filter(({ step }) => step === 1)).toEqual([])
    const steps = (await record(ended.id)).steps
    expect(steps.map(({ model }) => model)).toEqual(['answers', 'other', 'other'])
  })

  it('a fork knows what was said before, and leaves the first conversation as it was', async () => {
    await mesh.ask('remember apple', { agent: 'counter', session: 'words' })
    const asked = await mesh.ask('which word?', { agent: 'counter', session: 'words' })
    const ended = await forked(asked.id, { model: 'scripted/other' })
    expect(ended.outcome?.text).toBe('The other one was told.')
    // A request for a record waits until the record is written.
    await record(ended.id)
    const database = new DatabaseSync(join(mesh.home, 'data', 'mesh.db'), { readOnly: true })
    const told = String(
      database.prepare('SELECT news FROM run_exchanges WHERE run_id = ?').get(ended.id)?.['news'],
    )
    database.close()
    expect(told).toContain('I remember the word apple.')
    const history = await mesh.call(
      { method: 'GET', path: '/api/agents/counter/chat/history', summary: '' },
      { query: { session: 'words' } },
    )
    expect(history.text).not.toContain('The other one')
  })

  it('a fork is held to its model and its steps', async () => {
    const id = await countOnce()
    const refused = async (body: object) =>
      (await mesh.call(replayEndpoints.runFork, { params: { id }, body })).json()
    expect(await refused({ model: 'nowhere/none' })).toMatchObject({ code: 'unprocessable' })
    expect(await refused({ model: 'scripted/other', step: 4 })).toMatchObject({ code: 'not-found' })
  })
})

describe('the command line', () => {
  it('the command line shows a record, plays it again, and forks it', async () => {
    const id = await countOnce()
    const shown = await cli('replay', id, '--record')
    expect(shown.out).toMatch(/Run run_\w+ of counter: 3 steps in 1 turn\.\nturn 1: count them\n +1\. /)
    const again = await cli('replay', id)
    expect(again.code, again.err).toBe(0)
    expect(again.out).toContain('Replay of turn 1 of 1: 3 steps and 2 calls, as before.')
    const forked = await cli('fork', id, '--model', 'scripted/other', '--step', '2', '--max-usd', '0.5')
    expect(forked.code, forked.err).toBe(0)
    expect(forked.out).toMatch(/^The other one counts \d+\.\n/)
    expect(forked.out).toContain('From the fork on, with scripted/other')
    const wrong = await cli('fork', id, '--model', 'nowhere/none')
    expect(wrong.code).toBe(1)
    expect(wrong.err).toContain('unprocessable')
  })

  it('replay reports by its exit code that a run now differs', async () => {
    const id = await countOnce()
    // The record is unchanged but the end differs, as if another cause had ended the run. The mesh writes to the same
    // database, so the second writer waits.
    const database = new DatabaseSync(join(mesh.home, 'data', 'mesh.db'), { timeout: 10_000 })
    database
      .prepare("UPDATE run_exchanges SET news = replace(news, 'lines:', 'LINES:') WHERE run_id = ?")
      .run(id)
    database
      .prepare("UPDATE runs SET outcome = replace(outcome, 'There are', 'There were') WHERE id = ?")
      .run(id)
    database.close()
    const { code, out } = await cli('replay', id, '--json')
    const { same, turns } = JSON.parse(out) as { same: boolean; turns: { differences: { what: string }[] }[] }
    expect(turns[0]?.differences.map(({ what }) => what)).toEqual(['outcome'])
    expect([code, same]).toEqual([1, false])
  })

  it('the command line keeps nothing where the owner wants no records', async () => {
    const settings = join(mesh.home, 'config', 'settings.json')
    const whole = JSON.parse(await readFile(settings, 'utf8')) as object
    await writeFile(settings, JSON.stringify({ ...whole, run_records: { days: 0 } }))
    await mesh.terminate()
    await mesh.restart()
    const run = await mesh.ask('count them', { agent: 'counter', session: 'unkept' })
    expect((await mesh.call(replayEndpoints.runRecord, { params: { id: run.id } })).json()).toMatchObject({
      code: 'not-found',
    })
  })
})
