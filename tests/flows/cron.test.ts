import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { cronHumanEndpoints } from '@flotilla/protocol/cron-api'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { editPermissions } from '../support/edit-permissions.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { openLedger } from '../support/ledger-view.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { heedsLesson, verifies } from '../verifies.ts'
import { patient } from '../support/patience.ts'

/** Number of power cuts; `npm run test:soak` has more. */
const powerCuts = process.env['FLOTILLA_SOAK'] === '1' ? 40 : 2
let mesh: MeshProcess

const day = aCassette(
  {
    agents: ['clerk'],
    when: '^remind yourself$',
    turns: [
      calls('set_cron', { schedule: 'every 5s', message: 'water the plants' }),
      calls('list_cron', {}),
      says('I shall: {{list}}', { capture: { list: '([\\s\\S]+)' } }),
    ],
  },
  {
    agents: ['clerk'],
    when: '^never mind$',
    turns: [
      calls('list_cron', {}),
      calls(
        'remove_cron',
        { job_id: '{{job}}' },
        { capture: { job: '"id": ?"(cron_[0-9a-f]+)"[^{}]*"schedule": ?"every 5s"' } },
      ),
      says('Forgotten.'),
    ],
  },
  { agents: ['clerk'], when: '^water the plants$', turns: [says('The plants are wet.')] },
  { agents: ['clerk'], when: '^how is it$', turns: [says('nothing to do')] },
)

beforeAll(async () => {
  mesh = await startMesh({ cassettes: { day } })
  await mesh.createWorker('clerk')
  await mesh.createWorker('writer')
})
afterAll(async () => {
  await mesh?.stop()
})
beforeEach(() => mesh.restartIfStopped())

const cli = (...words: string[]) => flotilla({ home: mesh.home, url: mesh.url }, ...words)

interface Job {
  readonly id: string
  readonly mode: string
  readonly run_count: number
}

async function jobs(): Promise<readonly Job[]> {
  const reply = await mesh.call(cronHumanEndpoints.cronJobs)
  // Every agent also has a heartbeat job, which is left out here.
  return (reply.json() as { jobs: Job[] }).jobs.filter(({ mode }) => mode !== 'heartbeat')
}

describe('an agent', () => {
  it('an agent makes a job for itself by set_cron where it may, is set to work by it, and removes it', async () => {
    verifies(
      'resources:tool:set-cron',
      'resources:tool:list-cron',
      'resources:tool:remove-cron',
      'resources:tool:set-cron-permission',
      'resources:permission:can-manage-cron',
      'events:cron:message-mode',
      'events:inbound:cron',
    )
    await editPermissions(mesh, 'clerk', { can_manage_cron: false })
    const refused = await mesh.invoke('clerk', 'set_cron', { schedule: 'every 5s', message: 'x' })
    // The tool is not even offered; other tests prove that the mesh denies the call too.
    expect(refused.outcome).toMatchObject({ status: 'failed', code: 'denied' })
    await editPermissions(mesh, 'clerk', { can_manage_cron: true })
    const wrong = await mesh.invoke('clerk', 'set_cron', { schedule: '61 * * * *', message: 'x' })
    expect(wrong.outcome?.text).toMatch(/schedule: .*61/)
    const asked = await mesh.ask('remind yourself', { agent: 'clerk' })
    expect(asked.outcome?.text).toMatch(/I shall: .*every 5s.*water the plants/s)
    const watered = await eventually('the clock sets it to work', async () =>
      (await mesh.runs()).find(({ origin, state }) => origin.kind === 'cron' && state === 'done'),
    )
    expect(watered).toMatchObject({
      agent_id: 'clerk',
      origin: { kind: 'cron', user: 'agent:clerk' },
      outcome: { text: 'The plants are wet.' },
    })
    const [job] = await jobs()
    expect((await cli('cron', 'why', job?.id ?? '')).out).toMatch(
      /fired as run_\w+; done: The plants are wet\./,
    )
    expect((await mesh.ask('never mind', { agent: 'clerk' })).outcome?.text).toBe('Forgotten.')
    expect(await jobs()).toEqual([])
  })
})

describe('the owner', () => {
  it('the owner makes, reads, changes, fires and removes jobs at the command line', async () => {
    verifies('states:cron:manual-run-dispatches', 'events:cron:tool-mode', 'resources:cron-job:file')
    const wrong = await cli('cron', 'add', 'clerk', '*/0 * * * *', '--message', 'x')
    expect(wrong).toMatchObject({ code: 1 })
    expect(wrong.err).toMatch(/schedule: .*stepping: 0/)
    const noTool = await cli('cron', 'add', 'writer', 'every 1h', '--tool', 'fly', '--params', '{}')
    expect(noTool.err).toMatch(/tool_name: agent writer has no tool fly; it has run_command/)
    const noFit = await cli(
      'cron',
      'add',
      'writer',
      'every 1h',
      '--tool',
      'write_file',
      '--params',
      '{"path":7}',
    )
    expect(noFit.err).toMatch(/tool_params: (path|content)/)
    const call = ['--tool', 'write_file', '--params', '{"path":"workspace/seen.txt","content":"here"}']
    const when = ['0 9 * * MON-FRI', '--timezone', 'Europe/Berlin', '--off']
    const made = await cli('cron', 'add', 'writer', ...when, ...call, '--json')
    const job = JSON.parse(made.out) as Job & { next_run: null }
    expect(job).toMatchObject({ mode: 'tool', enabled: false, next_run: null, timezone: 'Europe/Berlin' })
    const fired = await cli('cron', 'run', job.id)
    expect(fired.out).toMatch(/manual: fired as run_/)
    await eventually('the tool is called without a model', async () =>
      readFile(join(mesh.dataOf('writer'), 'workspace', 'seen.txt'), 'utf8').catch(() => null),
    )
    expect((await cli('cron', 'set', job.id, '--on', '--schedule', 'every 2h')).out).toMatch(
      /Next due 20\d\d-/,
    )
    expect((await cli('cron', 'set', job.id, '--message', 'x')).err).toMatch(/mode tool cannot change/)
    // The file appears slightly before the run that wrote it has ended.
    await eventually('its run is done', async () =>
      /writer +every 2h +calls write_file .* 1 +done/.test((await cli('cron', 'list')).out),
    )
    expect((await cli('cron', 'history', job.id)).out).toMatch(/by hand +1 +fired .* done/)
    expect((await cli('cron', 'remove', job.id)).out).toBe(`Removed ${job.id}.\n`)
    expect((await cli('cron', 'why', job.id)).err).toMatch(/there is no job/)
  })

  it('the owner changes no field that is fixed: the job is removed and another made', async () => {
    verifies('resources:cron-job:immutable', 'resources:cron-job:identifier-field')
    const made = await cli('cron', 'add', 'writer', 'every 1h', '--message', 'x', '--json')
    const { id } = JSON.parse(made.out) as Job
    const path = join(mesh.home, 'config', 'cron.json')
    const whole = await readFile(path, 'utf8')
    const fixed = {
      id: 'mine',
      agent: 'clerk',
      heartbeat: true,
      created_by: 'human:other',
      created_at: 0,
    }
    for (const [field, value] of Object.entries(fixed)) {
      const body = { message: 'y', [field]: value }
      const reply = await mesh.call(cronHumanEndpoints.cronUpdate, { params: { id }, body })
      expect([reply.status, reply.json()['code']], field).toEqual([400, 'bad-request'])
      expect(reply.text).toContain(field)
    }
    const mode = await mesh.call(cronHumanEndpoints.cronUpdate, {
      params: { id },
      body: { tool_name: 'list_files' },
    })
    expect(mode.json()).toMatchObject({
      code: 'bad-request',
      detail: expect.stringMatching(/create another/),
    })
    expect(await readFile(path, 'utf8')).toBe(whole)
    // A field that the specification does not define may change; the decision page says why.
    const when = { when: 'now.hour < 50' }
    const changed = await mesh.call(cronHumanEndpoints.cronUpdate, { params: { id }, body: when })
    expect([changed.status, changed.json()]).toMatchObject([200, when])
    await cli('cron', 'remove', id)
    const beats = ['cron', 'add', 'clerk', 'every 1h', '--message', 'x', '--json']
    const other = JSON.parse((await cli(...beats)).out) as Job & { agent: string }
    expect(other).toMatchObject({ agent: 'clerk' })
    expect(other.id).not.toBe(id)
    await cli('cron', 'remove', other.id)
  })

  it('the owner edits the jobs file by hand, /readyz says what is wrong in it, and the earlier jobs go on', async () => {
    const made = await cli('cron', 'add', 'clerk', 'every 1h', '--message', 'how is it', '--json')
    const { id } = JSON.parse(made.out) as Job
    const path = join(mesh.home, 'config', 'cron.json')
    const whole = await readFile(path, 'utf8')
    await writeFile(path, whole.replace('every 1h', 'every now and then'))
    const ready = await eventually('the broken file is seen', async () => {
      const text = await (await fetch(`${mesh.url}/readyz`)).text()
      return text.includes('cron-broken') ? text : null
    })
    expect(ready).toMatch(/config\/cron\.json line \d+: jobs\.\d\.schedule: .*every now and then/)
    expect(JSON.parse(ready)).toMatchObject({ ready: true })
    expect(await jobs()).toMatchObject([{ id, schedule: 'every 1h' }])
    expect((await cli('status')).out).toMatch(
      /cron-broken: .*every now and then.*the previous jobs stay in force/,
    )
    const findings = (await mesh.command('doctor')).lines.at(-1)?.['findings']
    expect(findings).toContainEqual(expect.objectContaining({ id: 'cron-file', level: 'error' }))
    await writeFile(path, whole.replace('every 1h', 'every 2h'))
    await eventually('the change is seen', async () => (await cli('cron', 'list')).out.includes('every 2h'))
    await cli('cron', 'remove', id)
  })
})

describe('a power cut', () => {
  it(
    'a power cut at any moment leaves every due time with one row and every fired one with one run',
    async () => {
      heedsLesson(73)
      await cli('cron', 'add', 'clerk', 'every 5s', '--message', 'how is it')
      await cli('cron', 'add', 'writer', 'every 5s', '--tool', 'list_files', '--params', '{"path":"."}')
      const answers = new Set<number>()
      for (let cut = 0; cut < powerCuts; cut++) {
        // Each power cut has another distance to the tick, which is at multiples of five seconds.
        const toTick = 5000 - (Date.now() % 5000)
        await sleep(toTick + 4 + cut * 9)
        await mesh.kill9()
        const back = mesh.restart()
        // The API answers as soon as it listens, while the agents are still being started.
        const starting = new AbortController()
        const asking = (async () => {
          while (!starting.signal.aborted) {
            const status = await mesh.call(cronHumanEndpoints.cronJobs).then(
              (reply) => reply.status,
              () => null,
            )
            if (status !== null) answers.add(status)
            await sleep(20)
          }
        })()
        await back
        starting.abort()
        await asking
      }
      expect([...answers]).toEqual([200])
      const back = Date.now()
      const ledger = openLedger(mesh.home)
      const own = (await jobs()).map(({ id }) => id)
      await eventually('each job was due once more', () => {
        const later = ledger.rows(`SELECT job_id FROM cron_rows WHERE state = 'fired' AND due_at > ${back}`)
        return own.every((id) => later.some((row) => row['job_id'] === id))
      })
      const rows = ledger.rows('SELECT * FROM cron_rows ORDER BY job_id, due_at')
      const runs = ledger.rows(
        "SELECT id, idempotency_key FROM runs WHERE idempotency_key LIKE 'cron:%' AND idempotency_key NOT LIKE '%by-hand%'",
      )
      for (const { id } of await jobs()) {
        const own = rows.filter((row) => row['job_id'] === id)
        expect(own.length).toBeGreaterThan(1)
        let expected = Number(own[0]?.['due_at'])
        for (const row of own) {
          // Due times are five seconds apart: none is missing and none occurs twice.
          expect(Number(row['due_at'])).toBe(expected)
          expect(Number(row['due_until']) - Number(row['due_at'])).toBe((Number(row['count']) - 1) * 5000)
          expected = Number(row['due_until']) + 5000
          const keyed = runs.filter((run) => run['idempotency_key'] === `cron:${id}:${String(row['due_at'])}`)
          expect(keyed.map((run) => run['id'])).toEqual(row['state'] === 'fired' ? [row['run_id']] : [])
        }
        const fired = own.filter((row) => row['state'] === 'fired')
        expect(runs.filter((run) => String(run['idempotency_key']).startsWith(`cron:${id}:`))).toHaveLength(
          fired.length,
        )
      }
      ledger.close()
    },
    patient(process.env['FLOTILLA_SOAK'] === '1' ? 900_000 : 180_000),
  )
})
