import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { isTerminal } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { isAlive } from '../../packages/fleet/src/sandbox/process/process-record.ts'
import { aCassette, calls, operatorHandsOff, runs, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { openLedger } from '../support/ledger-view.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { heedsLesson, verifies } from '../verifies.ts'
import { patient } from '../support/patience.ts'

/** Waits until the test creates `go`, or a minute has passed. */
const untilItMayGo = 'for i in $(seq 300); do [ -e go ] && break; sleep 0.2; done'

/** `write N` appends a line at once; `slow N` appends a line, waits for `go`, and appends another. */
const cassette = aCassette(
  ...operatorHandsOff({
    when: 'chain (\\d+)',
    to: 'left',
    title: 'Link',
    capture: { line: 'wrote (link \\S+)' },
    answer: 'The worker {{line}}.',
  }),
  {
    agents: ['left', 'right'],
    when: 'Link',
    turns: [
      runs('n=$(cat links 2>/dev/null | wc -l); echo "link $n" >> links; echo "link $n"'),
      calls('complete_task', { summary: 'I wrote {{line}} .' }, { capture: { line: '(link \\d+)' } }),
    ],
  },
  {
    agents: ['left', 'right'],
    when: '^write (\\d+)$',
    turns: [
      runs('echo "write {{n}}" >> effects', { capture: { n: '^write (\\d+)$' } }),
      says('Wrote {{n}}.', { capture: { ran: '(exit code 0|outcome-unknown)' } }),
    ],
  },
  {
    agents: ['left', 'right'],
    when: '^slow (\\d+)$',
    turns: [
      runs(`echo "slow {{n}}" >> effects; ${untilItMayGo}; echo "slow {{n}} end" >> effects`, {
        capture: { n: '^slow (\\d+)$' },
      }),
      runs('echo "after {{n}}" >> effects'),
      says('Slow {{n}} is through.'),
    ],
  },
  {
    agents: ['left'],
    when: '^halt$',
    // An interrupted command is not repeated, so each attempt stops at another command.
    turns: [...[1, 2, 3].map(() => runs(untilItMayGo)), says('Nothing halted it.')],
  },
)

const workers = ['left', 'right']

/** One mesh for all tests: each has its own sessions and files, and counts only the runs since its start. */
let mesh: MeshProcess
let turn = 0
let idsBefore: ReadonlySet<string>
beforeAll(async () => {
  // Kills in earlier tests must not cause a quarantine.
  mesh = await startMesh({ cassettes: { crash: cassette }, settings: { restarts_per_hour: 1000 } })
  for (const id of workers) await mesh.createWorker(id)
})
afterAll(() => mesh?.stop())
beforeEach(async () => {
  turn += 1
  await mesh.restartIfStopped()
  idsBefore = new Set((await mesh.runs()).map(({ id }) => id))
  for (const agent of workers) {
    for (const file of ['effects', 'links', 'go']) await rm(join(mesh.dataOf(agent), file), { force: true })
  }
})

const own = (name: string) => `${turn}: ${name}`
const ask = (agent: string, message: string) =>
  mesh.submit(message, { agent, session: own(message), key: own(`${agent}:${message}`) })
const ownRuns = async () => (await mesh.runs()).filter(({ id }) => !idsBefore.has(id))

async function linesOf(agent: string, file = 'effects'): Promise<string[]> {
  const text = await readFile(join(mesh.dataOf(agent), file), 'utf8').catch(() => '')
  return text.split('\n').filter((line) => line !== '')
}

async function allEnded(boundMs = 100_000): Promise<readonly RunView[]> {
  return eventually(
    'all runs end',
    async () => {
      const found = await ownRuns()
      return found.every((run) => isTerminal(run.state)) ? found : null
    },
    boundMs,
  )
}

/** Checks R4 and R5 in the rows of all processes: one outcome for each run, one notification for each client. */
function expectOneOutcomeEach(ended: readonly RunView[]): void {
  const ledger = openLedger(mesh.home)
  try {
    const endings = ledger.endings()
    for (const run of ended) expect([run.id, endings.get(run.id)]).toEqual([run.id, 1])
    for (const child of ended.filter((run) => run.parent_id !== null)) {
      const notes = ledger.inbox(child.parent_id ?? '')
      expect(notes.filter((note) => String(note['source']).includes(child.task_id ?? '?'))).toHaveLength(1)
      expect(ledger.outbox(`run:${child.parent_id}`)).toMatchObject([{ state: 'delivered' }])
    }
  } finally {
    ledger.close()
  }
}

/** Lets slow commands finish. */
async function releaseCalls(): Promise<void> {
  for (const agent of workers) await writeFile(join(mesh.dataOf(agent), 'go'), '')
}

const twice = (lines: readonly string[]) => lines.filter((line, index) => lines.indexOf(line) !== index)

describe('a killed mesh', () => {
  it('a killed mesh with ten runs queued and two running loses none, ends each once, and repeats no effect', async () => {
    heedsLesson(49)
    await ask('left', 'slow 1')
    await ask('right', 'slow 2')
    await eventually('two runs work', async () => {
      const started = [...(await linesOf('left')), ...(await linesOf('right'))]
      return started.includes('slow 1') && started.includes('slow 2')
    })
    const chain = await mesh.submit('chain 1', { session: own('chain 1'), key: own('chain 1') })
    await eventually('the operator waits', async () => (await mesh.run(chain)).state === 'waiting')
    for (let n = 3; n < 12; n++) await ask(n % 2 ? 'left' : 'right', `write ${n}`)
    const before = await ownRuns()
    expect(before.filter((run) => run.state === 'running')).toHaveLength(2)
    expect(before.filter((run) => run.state === 'queued')).toHaveLength(10)

    await mesh.kill9()
    const processes = await mesh.agentProcesses()
    expect(await Promise.all(processes.map(isAlive))).toEqual(processes.map(() => true))
    // Both tools end while the mesh is down, and both agents request a model from it.
    await releaseCalls()
    await eventually('the agents work on without a mesh', async () => {
      const lines = [...(await linesOf('left')), ...(await linesOf('right'))]
      return lines.includes('slow 1 end') && lines.includes('slow 2 end')
    })
    await sleep(500)
    await mesh.restart()

    const ended = await allEnded()
    expect(ended).toHaveLength(13)
    expect(ended.filter((run) => run.state !== 'done')).toEqual([])
    expect(ended.find((run) => run.id === chain)?.outcome?.text).toMatch(/^The worker link 0/)
    expectOneOutcomeEach(ended)
    const lines = [...(await linesOf('left')), ...(await linesOf('right'))]
    expect(twice(lines)).toEqual([])
    expect(lines).toHaveLength(9 + 6)
    expect(await linesOf('left', 'links')).toHaveLength(1)
    // Processes that survived were adopted, not replaced.
    const after = await mesh.agentProcesses()
    expect(after.map((record) => record.pid)).toEqual(processes.map((record) => record.pid))
    expect(ended.map((run) => run.id)).toContain(await ask('left', 'write 5'))
  })

  it(
    'a mesh killed at any point of a hand-off chain loses nothing and notifies the requester once',
    async () => {
      heedsLesson(48, 53)
      const moments = process.env['FLOTILLA_SOAK'] === '1' ? 30 : 2
      // The first chain is slow because the workers' processes start; the second gives the usual duration.
      await mesh.ask('chain 100', { session: own('warm-up') })
      const begun = Date.now()
      await mesh.ask('chain 101', { session: own('measure') })
      const chainMs = Date.now() - begun
      for (let n = 0; n < moments; n++) {
        const asking = mesh
          .submit(`chain ${n}`, { session: own(`chain ${n}`), key: own(`chain ${n}`) })
          .catch(() => 'not told before the mesh was killed')
        await sleep((chainMs * 1.2 * n) / moments)
        await mesh.kill9()
        const told = await asking
        await mesh.restart()
        const id = await mesh.submit(`chain ${n}`, { session: own(`chain ${n}`), key: own(`chain ${n}`) })
        if (told.startsWith('run_')) expect(id).toBe(told)
        const run = await mesh.ended(id)
        expect(run.outcome, `killed after ${Math.round((chainMs * 1.2 * n) / moments)} ms`).toMatchObject({
          status: 'done',
        })
        expect(run.outcome?.text).toMatch(/^The worker link \d+/)
      }
      const ended = await allEnded()
      expect(ended).toHaveLength((moments + 2) * 2)
      expectOneOutcomeEach(ended)
      expect(await linesOf('left', 'links')).toHaveLength(moments + 2)
      expect((await mesh.command('verify-journal')).code).toBe(0)
    },
    patient(400_000),
  )

  it(
    'a killed mesh and killed again and again with three chains under way ends each run once, with no effect twice',
    async () => {
      const rounds = process.env['FLOTILLA_SOAK'] === '1' ? 25 : 2
      const asked: string[] = []
      for (let round = 0; round < rounds; round++) {
        for (const lane of ['a', 'b', 'c']) {
          const name = `chain ${round}${lane}`
          asked.push(await mesh.submit(name, { session: own(name), key: own(name) }))
        }
        // Kills are spread over the start of the agents, the chains and the recovery of the previous round.
        await sleep((round * 137) % 700)
        await mesh.kill9()
        await mesh.restart()
      }
      const ended = await allEnded()
      expectOneOutcomeEach(ended)
      const parents = ended.filter((run) => asked.includes(run.id))
      expect(parents).toHaveLength(rounds * 3)
      // A run may be interrupted in each of its three attempts, and then says so. No other failure is accepted.
      const excused = ended.filter((run) => run.state !== 'done')
      expect(excused.filter((run) => run.outcome?.code !== 'interrupted' || run.outcome.text === '')).toEqual(
        [],
      )
      const links = await linesOf('left', 'links')
      expect(twice(links)).toEqual([])
      expect(links.length).toBeGreaterThanOrEqual(parents.filter((run) => run.state === 'done').length)
    },
    patient(400_000),
  )

  it('together with its agents, as by a power cut, goes on from the checkpoints', async () => {
    const left = await ask('left', 'slow 1')
    const right = await ask('right', 'write 2')
    const queued = await ask('left', 'write 3')
    await eventually('the run works', async () => (await linesOf('left')).includes('slow 1'))
    // The other agent was interrupted in its command, so it could not tell whether it had written.
    await eventually('the other has written', async () => (await linesOf('right')).length > 0)
    const processes = await mesh.agentProcesses()
    await mesh.kill9()
    for (const { pid } of processes) process.kill(-pid, 'SIGKILL')
    await releaseCalls()
    await mesh.restart()
    for (const id of [left, right, queued]) expect((await mesh.ended(id)).state).toBe('done')
    // An interrupted run waits before its next attempt, and other runs of its lane go first.
    const lines = (await linesOf('left')).filter((line) => line !== 'slow 1 end')
    expect(lines.toSorted()).toEqual(['after 1', 'slow 1', 'write 3'])
    expect(await linesOf('right')).toEqual(['write 2'])
    expectOneOutcomeEach(await ownRuns())
  })

  it('a killed mesh asked to stop in mid-run leaves the run to its checkpoint and finishes it in its next life', async () => {
    const id = await ask('left', 'slow 7')
    await eventually('the run works', async () => (await linesOf('left')).includes('slow 7'))
    expect(await mesh.terminate()).toBe(0)
    const left = await mesh.agentProcesses()
    expect(await Promise.all(left.map(isAlive))).toEqual(left.map(() => false))

    await mesh.restart()

    const run = await mesh.ended(id)
    expect(run.outcome).toMatchObject({ status: 'done', text: 'Slow 7 is through.' })
    expect(await linesOf('left')).toEqual(['slow 7', 'after 7'])
    expectOneOutcomeEach([run])
  })
})

describe('a killed agent', () => {
  it('a killed agent goes on from its checkpoint, never repeats a command that was cut off, and does not touch the others', async () => {
    verifies('authentication:zone-2:containers')
    const cut = await ask('left', 'slow 1')
    const other = await ask('right', 'slow 2')
    await eventually('both work', async () => {
      const [left, right] = [await linesOf('left'), await linesOf('right')]
      return left.includes('slow 1') && right.includes('slow 2')
    })
    await killAgent('left')
    await releaseCalls()

    const [cutRun, otherRun] = [await mesh.ended(cut), await mesh.ended(other)]
    expect(otherRun).toMatchObject({ state: 'done', attempt: 1 })
    expect(cutRun.outcome).toMatchObject({ status: 'done', text: 'Slow 1 is through.' })
    expect(cutRun.attempt).toBe(2)
    // A plain process leaves its child processes behind; a container ends them too.
    const lines = await linesOf('left')
    expect(lines.filter((line) => line !== 'slow 1 end')).toEqual(['slow 1', 'after 1'])
    expect(await linesOf('right')).toEqual(['slow 2', 'slow 2 end', 'after 2'])
    expectOneOutcomeEach([cutRun, otherRun])
  })

  it('a killed agent at every attempt ends the run as interrupted, with a reason, and the lane goes on', async () => {
    const reply = mesh.ask('halt', { agent: 'left', session: own('halt') })
    for (let attempt = 1; attempt <= 3; attempt++) {
      const run = await eventually(`attempt ${attempt} runs`, async () => {
        const [newest] = await ownRuns()
        const [alive] = (await mesh.agentProcesses()).filter((record) => record.agentId === 'left')
        const works =
          newest?.state === 'running' && newest.attempt === attempt && alive && (await isAlive(alive))
        return works ? newest : null
      })
      expect(run.outcome).toBeNull()
      await killAgent('left')
    }
    const run = await reply
    await releaseCalls()
    expect(run.outcome).toMatchObject({ status: 'failed', code: 'interrupted' })
    expect(run.outcome?.text).not.toBe('')
    expect((await mesh.ask('write 4', { agent: 'left', session: own('after') })).state).toBe('done')
    expectOneOutcomeEach(await ownRuns())
  })
})

async function killAgent(agent: string): Promise<void> {
  const record = (await mesh.agentProcesses()).find((found) => found.agentId === agent)
  if (!record) throw new Error(`${agent} has no process`)
  process.kill(-record.pid, 'SIGKILL')
}
