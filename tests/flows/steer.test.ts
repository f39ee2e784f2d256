import { execFile } from 'node:child_process'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { fillPath } from '@flotilla/protocol/endpoint'
import { headers } from '@flotilla/protocol/headers'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { isTerminal } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'
import { steerViewSchema } from '@flotilla/protocol/steer'
import type { SteerView } from '@flotilla/protocol/steer'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aCassette, calls, runs, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { readEvents } from '../support/sse-reader.ts'
import { patient } from '../support/patience.ts'

/**
 * `slow N` works for N tenths of a second, or until the file `go` exists. A steer that arrives meanwhile decides
 * its next step.
 */
const cassette = aCassette(
  {
    when: 'Said by your user while you work.*also (\\w+)$',
    turns: [
      runs('echo {{word}} >> heard', { capture: { word: 'also (\\w+)$' } }),
      says('Steered by {{word}}.', { capture: { ran: '(exit code 0|outcome-unknown)' } }),
    ],
  },
  { when: '^also (\\w+)$', turns: [says('{{word}} on its own.', { capture: { word: '^also (\\w+)$' } })] },
  {
    when: '^slow (\\d+)$',
    turns: [
      runs('echo began >> marks; for i in $(seq {{n}}); do [ -e go ] && break; sleep 0.1; done', {
        capture: { n: '^slow (\\d+)$' },
        timeoutSeconds: 300,
      }),
      says('Slow and sure.'),
    ],
  },
  {
    agents: ['operator'],
    when: 'Said by agent|"Count", which you gave',
    turns: [says('Told.')],
  },
  {
    agents: ['operator'],
    when: '^delegate$',
    turns: [
      calls('hand_off', { to: 'left', title: 'Count' }),
      runs('sleep 1'),
      calls('steer_agent', { to: 'left', text: 'count the blue ones' }),
      says('Handed over.'),
    ],
  },
  {
    agents: ['left'],
    when: 'Said by agent operator.*blue',
    turns: [calls('complete_task', { summary: 'The blue ones are 7.' })],
  },
  {
    agents: ['left'],
    when: 'Count',
    turns: [runs('sleep 3'), calls('complete_task', { summary: 'All are 9.' })],
  },
)

const isSoak = process.env['FLOTILLA_SOAK'] === '1'

/** One mesh for all tests: each has its own texts and sessions, and checks only the runs since its start. */
let mesh: MeshProcess
let idsBefore: ReadonlySet<string> = new Set()
beforeAll(async () => {
  // Kills in earlier tests must not cause a quarantine.
  mesh = await startMesh({ cassettes: { steer: cassette }, settings: { restarts_per_hour: 1000 } })
  await mesh.createWorker('left')
})
afterAll(() => mesh?.stop())
beforeEach(async () => {
  await mesh.restartIfStopped()
  idsBefore = new Set((await mesh.runs()).map(({ id }) => id))
})
// Runs that a test left are ended, and the file that releases commands is removed.
afterEach(async () => {
  await unblockAgent()
  await allEnded()
  await rm(join(mesh.dataOf('left'), 'go'))
})

const ownRuns = async () => (await mesh.runs()).filter(({ id }) => !idsBefore.has(id))

async function steer(text: string, more: { key?: string; session?: string } = {}): Promise<SteerView> {
  const { key, session } = more
  const reply = await mesh.call(meshHumanEndpoints.steer, {
    params: { id: 'left' },
    body: { text, ...(session === undefined ? {} : { session }) },
    ...(key === undefined ? {} : { headers: { [headers.idempotencyKey]: key } }),
  })
  if (reply.status !== 200) throw new Error(`steer was refused: ${reply.status} ${reply.text}`)
  return steerViewSchema.parse(reply.json())
}

async function linesOf(file: string): Promise<string[]> {
  const text = await readFile(join(mesh.dataOf('left'), file), 'utf8').catch(() => '')
  return text.split('\n').filter((line) => line !== '')
}

/** Starts a run of `left` that is in the middle of its command. */
async function atWork(tenths: number, session = 's'): Promise<string> {
  const began = (await linesOf('marks')).length
  const id = await mesh.submit(`slow ${tenths}`, { agent: 'left', session })
  await eventually('the command runs', async () => (await linesOf('marks')).length > began)
  return id
}

/** Longer than any machine needs for the steps in between. */
const untilItMayGo = 2500

/** Waits until the agent has logged that it received the steer. */
const isHeard = ({ id }: SteerView) =>
  eventually('the agent hears it', async () => {
    const log = await readFile(join(mesh.dataOf('left'), '..', 'log'), 'utf8')
    return log.split('\n').some((line) => line.includes('a run received a message') && line.includes(id))
  })

/** Ends the command. */
const unblockAgent = () => writeFile(join(mesh.dataOf('left'), 'go'), '')

async function allEnded(): Promise<readonly RunView[]> {
  return eventually(
    'all runs end',
    async () => {
      const found = await ownRuns()
      return found.every((run) => isTerminal(run.state)) ? found : null
    },
    100_000,
  )
}

async function killAgent(): Promise<void> {
  const record = (await mesh.agentProcesses()).find((found) => found.agentId === 'left')
  if (!record) throw new Error('left has no process')
  process.kill(-record.pid, 'SIGKILL')
}

/** Counts how often the text occurs in the agent's conversations on disk. */
async function timesRemembered(word: string): Promise<number> {
  const folder = join(mesh.dataOf('left'), '.flotilla', 'sessions')
  const texts = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'utf8')))
  return texts
    .flatMap((text) => (JSON.parse(text) as { messages: { role: string; content: string }[] }).messages)
    .filter(({ role, content }) => role === 'user' && new RegExp(`also ${word}$`).test(content)).length
}

/** Checks R1 for one steer in ledger, files and answers, after all runs have ended. */
async function expectReadOnce(said: SteerView, ended: readonly RunView[]): Promise<void> {
  const word = said.text.slice('also '.length)
  const listed = ended.flatMap((run) => run.steers).filter((one) => one.id === said.id)
  const now = listed[0]
  const own = ended.filter(({ input }) => input.kind === 'chat' && input.message === said.text)
  expect(await timesRemembered(word), `${word} is remembered once`).toBe(1)
  if (now?.state === 'taken') {
    expect([word, own, listed.length]).toEqual([word, [], 1])
    expect((await linesOf('heard')).filter((line) => line === word).length).toBeLessThan(2)
  } else {
    expect([word, now?.state, own.map((run) => run.id)]).toEqual([word, 'became-run', [now?.became_run_id]])
    // A steer that arrived later may have been read by the same run.
    const later = own[0]?.steers.find(({ state }) => state === 'taken')?.text.slice('also '.length)
    expect(own[0]?.outcome?.text).toBe(later === undefined ? `${word} on its own.` : `Steered by ${later}.`)
    expect(await linesOf('heard')).not.toContain(word)
  }
}

describe('a steer', () => {
  it('a steer changes what a run does while it works, and both run and events show it', async () => {
    const events = await readEvents({
      method: 'GET',
      url: `${mesh.url}${meshHumanEndpoints.events.path}`,
      headers: {},
    })
    const id = await atWork(untilItMayGo)
    const said = await steer('also red')
    expect(said).toMatchObject({ state: 'waiting', run_id: id, became_run_id: null })
    await isHeard(said)
    await unblockAgent()
    const run = await mesh.ended(id)
    expect(run.outcome).toMatchObject({ status: 'done', text: 'Steered by red.' })
    expect(run.steers).toMatchObject([{ id: said.id, state: 'taken', step: 2, text: 'also red' }])
    expect(await mesh.runs()).toHaveLength(1)
    expect(await linesOf('heard')).toEqual(['red'])
    await expectReadOnce(said, [run])
    const told = events.frames.flatMap(({ data }) => {
      const body = data['body'] as Record<string, unknown>
      return body['type'] === 'steer.changed' ? [[body['state'], body['run_id'], body['step']]] : []
    })
    events.leave()
    expect(told).toEqual([
      ['waiting', id, null],
      ['taken', id, 2],
    ])
    expect((await mesh.command('verify-journal')).code).toBe(0)
  })

  it('a steer to an idle agent is a run, under the same key the same one, and curl can say it', async () => {
    const url = `${mesh.url}${fillPath(meshHumanEndpoints.steer.path, { id: 'left' })}`
    const { stdout } = await promisify(execFile)('curl', [
      '-sS',
      url,
      '-H',
      'X-Requested-With: curl',
      '-H',
      'Content-Type: application/json',
      '-H',
      `${headers.idempotencyKey}: one`,
      '-d',
      '{"text":"also green"}',
    ])
    const said = steerViewSchema.parse(JSON.parse(stdout))
    expect(said).toMatchObject({ state: 'became-run', run_id: null })
    const run = await mesh.ended(said.became_run_id ?? '')
    expect(run.outcome?.text).toBe('green on its own.')
    expect(run.steers).toEqual([said])
    expect(await steer('also green', { key: 'one' })).toEqual(said)
    const refused = await mesh.call(meshHumanEndpoints.steer, {
      params: { id: 'left' },
      body: { text: 'x'.repeat(4001) },
    })
    expect(refused.status).toBe(400)
  })

  it('a steer of the agent that gave the work reaches the agent that does it', async () => {
    const run = await mesh.ask('delegate')
    expect(run.outcome).toMatchObject({ status: 'done' })
    const [task] = await mesh.tasks()
    expect(task).toMatchObject({ state: 'done', summary: 'The blue ones are 7.' })
    const child = (await mesh.runs()).find((one) => one.task_id === task?.id)
    expect(child?.steers).toMatchObject([
      { state: 'taken', text: 'count the blue ones', origin: { kind: 'operator', user: 'operator' } },
    ])
  })

  it('a steer of any other agent is denied, even if that agent may send messages', async () => {
    await mesh.createWorker('right')
    const id = await atWork(untilItMayGo, 'denied')
    const run = await mesh.invoke('right', 'steer_agent', { to: 'left', text: 'also mine' })
    expect(run.outcome).toMatchObject({ status: 'failed', code: 'denied' })
    expect((await mesh.run(id)).steers).toEqual([])
  })

  it('a steer around the end of a run is read by that run or is one of its own', async () => {
    const said: SteerView[] = []
    const [rounds, each] = isSoak ? [4, 12] : [1, 6]
    for (let round = 0; round < rounds; round++) {
      const id = await atWork(3, `s${round}`)
      while (!isTerminal((await mesh.run(id)).state)) {
        if (said.length < (round + 1) * each)
          said.push(await steer(`also v${said.length}`, { session: `s${round}` }))
        else await sleep(20)
      }
    }
    const ended = await allEnded()
    for (const one of said) await expectReadOnce(one, ended)
    expect(said.length).toBeGreaterThan((rounds * each) / 5)
  })
})

describe('between acceptance and taking', () => {
  it('a killed mesh loses no steer', async () => {
    const id = await atWork(untilItMayGo, 'killed mesh')
    const said = await steer('also amber', { key: 'k', session: 'killed mesh' })
    await mesh.kill9()
    await mesh.restart()
    expect((await steer('also amber', { key: 'k', session: 'killed mesh' })).id).toBe(said.id)
    await isHeard(said)
    await unblockAgent()
    const run = await mesh.ended(id)
    expect(run.outcome?.text).toBe('Steered by amber.')
    await expectReadOnce(said, await allEnded())
  })

  it('a mesh that was down while the agent applied the steer is informed after its restart', async () => {
    const id = await atWork(untilItMayGo, 'away')
    const said = await steer('also brown', { session: 'away' })
    await isHeard(said)
    await mesh.kill9()
    await unblockAgent()
    // The command ends meanwhile: the agent reads the steer, and cannot confirm it to the mesh.
    await sleep(1500)
    await mesh.restart()
    expect((await mesh.ended(id)).outcome?.text).toBe('Steered by brown.')
    await expectReadOnce(said, await allEnded())
  })

  it('a killed agent reads it in its next attempt', async () => {
    const id = await atWork(untilItMayGo, 'killed agent')
    const said = await steer('also grey', { session: 'killed agent' })
    await killAgent()
    const run = await mesh.ended(id)
    expect(run).toMatchObject({ attempt: 2, state: 'done', outcome: { text: 'Steered by grey.' } })
    await expectReadOnce(said, await allEnded())
  })

  it(
    'each steer is read by one run once, when mesh and agent are killed at any moment between acceptance and reading',
    async () => {
      const moments = isSoak ? 40 : 3
      const said: SteerView[] = []
      for (let n = 0; n < moments; n++) {
        await atWork(4, `m${n}`)
        said.push(await steer(`also w${n}`, { key: `k${n}`, session: `m${n}` }))
        // Kills are spread from the acceptance of the steer to the end of the run.
        await sleep((900 * n) / moments)
        if (n % 3 !== 1) await mesh.kill9()
        if (n % 3 !== 0) await killAgent().catch(() => undefined)
        if (n % 3 !== 1) await mesh.restart()
        await allEnded()
      }
      const ended = await allEnded()
      for (const one of said) await expectReadOnce(one, ended)
      expect(ended.filter((run) => run.state !== 'done')).toEqual([])
      expect((await mesh.command('verify-journal')).code).toBe(0)
    },
    patient(300_000),
  )
})
