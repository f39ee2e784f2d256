import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { heartbeatApi, heartbeatEndpoints } from '@flotilla/protocol/heartbeat-api'
import { cronHumanApi, cronHumanEndpoints } from '@flotilla/protocol/cron-api'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { isTerminal } from '@flotilla/protocol/run'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aCassette, calls, runs, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { readEvents } from '../support/sse-reader.ts'
import { heedsLesson, verifies } from '../verifies.ts'
import { patient } from '../support/patience.ts'

const cassette = aCassette(
  { when: '^hello$', turns: [says('hello yourself')] },
  {
    agent_kind: 'operator',
    when: '^delegate$',
    turns: [calls('hand_off', { to: 'scout', title: 'look there', description: '' }), says('Handed over.')],
  },
  {
    agent_kind: 'operator',
    when: '^delegate by the clock$',
    turns: [
      calls('hand_off', { to: 'punctual', title: 'look there', description: '' }),
      says('Handed over.'),
    ],
  },
  {
    agents: ['scout', 'punctual'],
    when: '^Task task_',
    turns: [
      calls('complete_task', { summary: 'no way there', result: {}, status: 'blocked' }),
      says('blocked'),
    ],
  },
  {
    when: 'pending_tasks: 1 open task[\\s\\S]*look there',
    turns: [calls('notify_user', { message: 'The task is blocked.' }), says('I told you of the task.')],
  },
  {
    agents: ['slow'],
    when: '# Hard rules',
    turns: [
      runs('echo look >> looks; for i in $(seq 80); do [ -e go ] && break; sleep 0.25; done'),
      runs('echo done >> looks'),
      says('I looked.'),
    ],
  },
  { when: '# Hard rules', turns: [says('HEARTBEAT_OK')] },
  { turns: [says('as you say')] },
)

async function heartbeat(agent: string, ifNeeded = true) {
  const reply = await mesh.call(heartbeatEndpoints.heartbeatRun, {
    params: { id: agent },
    body: { if_needed: ifNeeded },
    timeoutMs: patient(60_000),
  })
  return heartbeatApi.heartbeatRun.response.parse(reply.json())
}

/** Number of model calls according to the mesh. */
async function modelCalls(mesh: MeshProcess, agent: string): Promise<number> {
  const reply = await mesh.call(meshHumanEndpoints.costs)
  const { agents } = meshHumanApi.costs.response.parse(reply.json())
  return agents.find(({ agent_id: id }) => id === agent)?.calls ?? -1
}

/** Each test uses its own agents in this mesh. */
let mesh: MeshProcess
beforeAll(async () => {
  mesh = await startMesh({ cassettes: { heart: cassette } })
})
afterAll(() => mesh?.stop())
beforeEach(() => mesh.restartIfStopped())

describe('a heartbeat of a real fleet', () => {
  it('a heartbeat of a real fleet costs no model call where there is nothing to do, and runs where there is', async () => {
    heedsLesson(74, 76, 79)
    verifies('states:heartbeat:skip-calls-no-llm', 'states:heartbeat:skipped', 'states:heartbeat:runs')
    verifies(
      'events:heartbeat:probes-first',
      'events:heartbeat:one-message',
      'events:heartbeat:message-rules',
      'events:heartbeat:message-daily-logs',
      'events:heartbeat:message-probe-alerts',
      'events:heartbeat:message-pending',
    )
    await mesh.createWorker('scout')
    await mesh.createWorker('scout2')

    expect(await heartbeat('scout')).toEqual({ skipped: 'nothing-to-do', run: null })
    expect(await modelCalls(mesh, 'scout')).toBe(0)
    expect(await mesh.runs()).toEqual([])

    // A person's heartbeat always runs, and one without findings keeps no agent awake.
    const asked = await heartbeat('scout', false)
    expect(asked.run).toMatchObject({
      kind: 'heartbeat',
      state: 'done',
      origin: { kind: 'human' },
      outcome: { text: 'HEARTBEAT_OK', result: { outcome: 'quiet', tools_used: [] } },
    })
    expect(await modelCalls(mesh, 'scout')).toBe(1)
    expect(await heartbeat('scout')).toEqual({ skipped: 'nothing-to-do', run: null })
    expect(await modelCalls(mesh, 'scout')).toBe(1)

    // A durable hand-off triggers the probe, also after a restart, and for exactly that agent.
    await mesh.ask('delegate')
    const [task] = await mesh.tasks()
    expect(task).toMatchObject({ assignee: 'scout', state: 'blocked' })
    // The day's log is written when the run ends, shortly after the task.
    await eventually('the work is over', async () =>
      (await mesh.runs()).every(({ state }) => isTerminal(state)),
    )
    await mesh.terminate()
    await mesh.restart()
    expect(await heartbeat('scout2')).toEqual({ skipped: 'nothing-to-do', run: null })
    const needed = await heartbeat('scout')
    expect(needed.run?.origin.kind).toBe('heartbeat')
    // The probes had run before the first call of the model.
    const input = needed.run?.input
    const message = input?.kind === 'heartbeat' ? input.message : ''
    const told = Object.fromEntries(message.split(/^# (?=[A-Z][a-z])/m).map((part) => part.split(/\n([^]*)/)))
    expect(told).toMatchObject({
      'Your rules (HEARTBEAT.md)': expect.stringContaining('open tasks that were given to you'),
      'Recent daily logs': expect.stringContaining('Called complete_task. Ended: "no way there"'),
      Alerts: '- pending_tasks: 1 open task given to you.\n\n',
      Pending: expect.stringMatching(/^- task task_\w+ \(blocked\) from operator: "look there"$/m),
    })
    expect(needed.run?.outcome).toMatchObject({
      text: 'I told you of the task.',
      result: { outcome: 'reported', tools_used: ['notify_user'] },
    })
    // The message to people belongs to none of their conversations.
    const events = await readEvents({ method: 'GET', url: `${mesh.url}/api/events`, headers: {} })
    await eventually('the note is told', async () =>
      events.frames.some(({ data }) => JSON.stringify(data).includes('"note.added"')) ? true : null,
    )
    events.leave()
    expect((await mesh.ask('hello', { agent: 'scout' })).outcome?.text).toBe('hello yourself')
    const day = new Date().toISOString().slice(0, 10)
    const logs = `${mesh.dataOf('scout')}/workspace/memory`
    expect(await readFile(`${logs}/heartbeats/${day}.md`, 'utf8')).toContain('I told you of the task.')
    expect(await readFile(`${logs}/${day}.md`, 'utf8')).not.toContain('I told you of the task.')
  })

  it('a skipped heartbeat starts nothing: an agent that never ran, or that was idle and is stopped, stays stopped', async () => {
    await mesh.createWorker('fresh')
    const processes = async () => (await mesh.agentProcesses()).filter(({ agentId }) => agentId === 'fresh')
    const state = async () => {
      const reply = await mesh.call(meshHumanEndpoints.status)
      const { agents } = meshHumanApi.status.response.parse(reply.json())
      return agents.find(({ id }) => id === 'fresh')?.state
    }
    expect(await heartbeat('fresh')).toEqual({ skipped: 'nothing-to-do', run: null })
    expect(await heartbeat('fresh')).toEqual({ skipped: 'nothing-to-do', run: null })
    expect(await processes()).toEqual([])
    expect(await state()).toBe('created')
    await mesh.terminate()
    await mesh.restart()
    expect(await heartbeat('fresh')).toEqual({ skipped: 'nothing-to-do', run: null })
    expect(await state()).toBe('created')
    // A heartbeat that said something stops with the mesh: its log is activity, so the next heartbeat runs.
    await mesh.ask('hello', { agent: 'fresh' })
    await mesh.call(controlEndpoints.agentArchive, { params: { id: 'fresh' } })
    await mesh.call(controlEndpoints.agentUnarchive, { params: { id: 'fresh' } })
    expect(await state()).toBe('stopped')
    expect((await heartbeat('fresh')).run).toMatchObject({ kind: 'heartbeat', state: 'done' })
  })

  it('a heartbeat of a real fleet comes by the clock, as a job of its agent, and costs nothing where there is nothing to do', async () => {
    verifies('events:heartbeat:is-a-cron', 'purpose:mesh:runs-heartbeats', 'events:inbound:heartbeat')
    verifies('events:heartbeat:default-schedule')
    await mesh.createWorker('punctual')
    const job = async () => {
      const reply = await mesh.call(cronHumanEndpoints.cronJobs)
      return cronHumanApi.cronJobs.response.parse(reply.json()).jobs.find(({ agent }) => agent === 'punctual')
    }
    expect(await job()).toMatchObject({ heartbeat: true, enabled: false, schedule: 'every 15m' })
    await mesh.call(cronHumanEndpoints.cronUpdate, {
      params: { id: (await job())?.id ?? 'none' },
      body: { schedule: 'every 5s', enabled: true },
    })
    await eventually('the clock lets it pass', async () => ((await job())?.skip_count ?? 0) > 0)
    expect(await job()).toMatchObject({ heartbeat: true, schedule: 'every 5s', run_count: 0 })
    expect(await modelCalls(mesh, 'punctual')).toBe(0)
    await mesh.ask('delegate by the clock', { session: 'clock' })
    const beaten = await eventually('the clock makes it look', async () =>
      (await mesh.runs()).find(
        ({ agent_id: agent, kind, state }) =>
          agent === 'punctual' && kind === 'heartbeat' && state === 'done',
      ),
    )
    expect(beaten).toMatchObject({
      agent_id: 'punctual',
      origin: { kind: 'heartbeat' },
      outcome: { text: 'I told you of the task.' },
    })
    await eventually('the job has it', async () => ((await job())?.run_count ?? 0) > 0)
    await mesh.call(heartbeatEndpoints.heartbeatSet, { params: { id: 'punctual' }, body: { schedule: null } })
  })

  it('a heartbeat of a real fleet is the command’s too; an archived agent and the operator’s schedule refuse', async () => {
    const cli = (...words: string[]) => flotilla({ url: mesh.url, home: mesh.home }, 'heartbeat', ...words)
    await mesh.createWorker('told')
    expect((await cli('told', '--if-needed')).out).toMatch(
      /^Skipped \(nothing-to-do\): .*: flotilla heartbeat told\n$/,
    )
    for (const words of [['--if-needed'], ['told', '--if-needed', '--every', '2h']]) {
      expect((await cli(...words)).err).toContain('Example: flotilla heartbeat')
    }
    expect((await cli('told')).out).toMatch(/^Nothing to report: flotilla runs run_/)
    expect((await cli()).out).toMatch(/told +.*ran: run_/)
    const refused = await cli('operator', '--off')
    expect(refused.err).toContain('the heartbeat of the operator always runs every 15m')
    expect(refused.code).not.toBe(0)
    for (const [id, schedule, code] of [
      ['operator', 'every 7d', 'unprocessable'],
      ['told', 'every 5s', 'bad-request'],
    ]) {
      const reply = await mesh.call(heartbeatEndpoints.heartbeatSet, {
        params: { id: id ?? '' },
        body: { schedule },
      })
      expect(reply.json()).toMatchObject({ code })
    }
    await mesh.call(controlEndpoints.agentArchive, { params: { id: 'told' } })
    expect(await heartbeat('told')).toEqual({ skipped: 'archived', run: null })
    const put = await mesh.call(heartbeatEndpoints.heartbeatRun, { params: { id: 'told' }, body: {} })
    expect(put.json()).toMatchObject({ code: 'agent-archived' })
  })

  it('a heartbeat of a real fleet is as its owner sets it for a worker, and every 15 minutes for the operator in any case', async () => {
    verifies(
      'resources:worker:heartbeat-configurable',
      'resources:operator:heartbeat-locked',
      'events:heartbeat:operator-locked',
    )
    await mesh.createWorker('set')
    const path = join(mesh.home, 'config', 'cron.json')
    const jobOf = async (agent: string) => {
      const { jobs } = JSON.parse(await readFile(path, 'utf8')) as { jobs: Record<string, unknown>[] }
      return jobs.find((job) => job['agent'] === agent && job['heartbeat'] === true)
    }
    const set = (id: string, schedule: string | null) =>
      mesh.call(heartbeatEndpoints.heartbeatSet, { params: { id }, body: { schedule } })

    expect((await set('set', 'every 2h')).status).toBe(200)
    expect(await jobOf('set')).toMatchObject({ schedule: 'every 2h', enabled: true })
    expect((await set('set', null)).status).toBe(200)
    expect(await jobOf('set')).toMatchObject({ schedule: 'every 2h', enabled: false })

    const locked = await jobOf('operator')
    expect(locked).toMatchObject({ schedule: 'every 15m', enabled: true })
    const params = { id: String(locked?.['id']) }
    for (const schedule of ['every 1m', 'every 7d', null]) {
      expect((await set('operator', schedule)).json()).toMatchObject({ code: 'unprocessable' })
    }
    for (const change of [{ schedule: 'every 1h' }, { enabled: false }, { when: 'now.hour > 50' }]) {
      const reply = await mesh.call(cronHumanEndpoints.cronUpdate, { params, body: change })
      expect(reply.json(), JSON.stringify(change)).toMatchObject({ code: 'bad-request' })
    }
    const removed = await mesh.call(cronHumanEndpoints.cronRemove, { params })
    expect(removed.json()).toMatchObject({ code: 'bad-request' })
    expect(await jobOf('operator')).toEqual(locked)

    // Editing the file changes nothing while the mesh runs; that the next start repairs it is tested below.
    const whole = await readFile(path, 'utf8')
    expect(whole).toContain('"every 15m"')
    await writeFile(path, whole.replace('"every 15m"', '"every 7d"'))
    await eventually('it is told', async () =>
      (await (await fetch(`${mesh.url}/readyz`)).text()).includes('heartbeat of the operator'),
    )
    const listed = await mesh.call(cronHumanEndpoints.cronJobs)
    const { jobs } = cronHumanApi.cronJobs.response.parse(listed.json())
    expect(jobs.find(({ id }) => id === params.id)).toMatchObject({ schedule: 'every 15m', enabled: true })
    await writeFile(path, whole)
    await eventually(
      'it is not told any more',
      async () => !(await (await fetch(`${mesh.url}/readyz`)).text()).includes('heartbeat of the operator'),
    )
    expect(await jobOf('operator')).toEqual(locked)
  })

  it('a heartbeat of a real fleet survives the kill of its agent in the middle of a call', async () => {
    await mesh.createWorker('slow')
    const ended = heartbeat('slow', false)
    const looks = `${mesh.dataOf('slow')}/looks`
    await eventually('it looks', () => readFile(looks, 'utf8').catch(() => null))
    const [agent] = (await mesh.agentProcesses()).filter(({ agentId }) => agentId === 'slow')
    process.kill(-(agent?.pid ?? NaN), 'SIGKILL')
    const { run } = await ended
    expect(run).toMatchObject({ state: 'done', attempt: 2, outcome: { text: 'I looked.' } })
    expect(await readFile(looks, 'utf8')).toBe('look\ndone\n')
  })
})

describe('the operator’s heartbeat', () => {
  it('the heartbeat of the operator cannot be removed by command line, API or an edited file, and each attempt gets the reason', async () => {
    verifies('events:heartbeat:operator-locked', 'resources:operator:heartbeat-locked')
    const cli = (...words: string[]) => flotilla({ url: mesh.url, home: mesh.home }, ...words)
    const path = join(mesh.home, 'config', 'cron.json')
    const heart = async () => {
      const { jobs } = cronHumanApi.cronJobs.response.parse(
        (await mesh.call(cronHumanEndpoints.cronJobs)).json(),
      )
      return jobs.filter(({ agent, heartbeat }) => agent === 'operator' && heartbeat)
    }
    const [found] = await heart()
    const id = found?.id ?? ''
    expect(await heart()).toHaveLength(1)
    const as = { id, schedule: 'every 15m', enabled: true, when: null, next_run: expect.any(Number) }
    for (const words of [
      ['cron', 'set', id, '--off'],
      ['cron', 'set', id, '--when', 'now.hour > 50'],
      ['cron', 'set', id, '--schedule', 'every 300d'],
      ['cron', 'set', id, '--message', 'sleep'],
      ['cron', 'remove', id],
    ]) {
      const refused = await cli(...words)
      expect(refused.code, words.join(' ')).not.toBe(0)
      expect(refused.err).toMatch(/heartbeat of the operator.*flotilla pause operator/)
    }
    expect(await heart()).toMatchObject([as])

    const whole = await readFile(path, 'utf8')
    const broken = async () => (await cli('status')).out.match(/cron-broken: .*/)?.[0] ?? null
    await writeFile(path, whole.replace('"enabled": true', '"enabled": false'))
    expect(await eventually('the change is seen', broken)).toMatch(
      /cron\.json line \d+: the heartbeat of the operator cannot be changed: the field enabled must be true.*the previous jobs stay in force/,
    )
    const finding = async () => {
      const findings = (await mesh.command('doctor')).lines.at(-1)?.['findings'] as
        | { id: string }[]
        | undefined
      return findings?.find((one) => one.id === 'cron-file')
    }
    expect(await finding()).toMatchObject({
      level: 'error',
      detail: expect.stringContaining('the field enabled must be true'),
    })
    expect(await heart()).toMatchObject([as])

    // A mesh that starts with the edited file restores it, and logs that.
    await mesh.terminate()
    await mesh.restart()
    expect(await broken()).toBeNull()
    expect(await heart()).toMatchObject([as])
    expect(await readFile(path, 'utf8')).toBe(whole)
    expect(mesh.log()).toContain('restored the operator’s heartbeat in config/cron.json')
    expect(await finding()).toMatchObject({ level: 'ok' })

    // A mesh that cannot read the file at all continues without it.
    await mesh.terminate()
    await writeFile(path, whole.slice(0, -4))
    await mesh.restart()
    expect(await broken()).toMatch(
      /except for the operator's heartbeat, no job runs until the file is corrected/,
    )
    expect(await heart()).toMatchObject([{ ...as, id: expect.any(String) }])
    await writeFile(path, whole)
    await eventually('the mended file is seen', async () => (await broken()) === null)
    expect(await heart()).toMatchObject([as])

    // Only a pause holds the heartbeat, and the list says so.
    expect((await cli('pause', 'operator', '--reason', 'quiet')).code).toBe(0)
    expect((await cli('status')).out).toMatch(/quiet/)
    expect((await cli('resume', 'operator')).code).toBe(0)
  })
})
