import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { isTerminal } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'
import { describe, expect, it } from 'vitest'
import { isAlive } from '../../packages/mesh/src/sandbox/process/process-record.ts'
import { aCassette, calls, operatorHandsOff, runs, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { openLedger } from '../support/ledger-view.ts'
import { startMeshForTest } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { heedsLesson, verifies } from '../verifies.ts'
import { patient } from '../support/patience.ts'

/** `write N` appends a line at once; `slow N` appends one, works for a second and a half, and appends another. */
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
      // Until the test lets it go, or a minute has passed.
      runs(
        'echo "slow {{n}}" >> effects; for i in $(seq 1200); do [ -e go ] && break; sleep 0.05; done; echo "slow {{n}} end" >> effects',
        {
          capture: { n: '^slow (\\d+)$' },
        },
      ),
      runs('echo "after {{n}}" >> effects'),
      says('Slow {{n}} is through.'),
    ],
  },
)

async function fleet(): Promise<MeshProcess> {
  const mesh = await startMeshForTest({ cassettes: { crash: cassette } })
  for (const id of ['left', 'right']) await mesh.createWorker(id)
  return mesh
}

const ask = (mesh: MeshProcess, agent: string, message: string) =>
  mesh.submit(message, { agent, session: message, key: `${agent}:${message}` })

async function linesOf(mesh: MeshProcess, agent: string, file = 'effects'): Promise<string[]> {
  const text = await readFile(join(mesh.dataOf(agent), file), 'utf8').catch(() => '')
  return text.split('\n').filter((line) => line !== '')
}

async function allEnded(mesh: MeshProcess, boundMs = 100_000): Promise<readonly RunView[]> {
  return eventually(
    'all runs end',
    async () => {
      const found = await mesh.runs()
      return found.every((run) => isTerminal(run.state)) ? found : null
    },
    boundMs,
  )
}

/** What R4 and R5 promise, read from the rows of all lives: one outcome for each run, each asker told once. */
function expectOneOutcomeEach(mesh: MeshProcess, ended: readonly RunView[]): void {
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

/** Lets what is slow go on to its end. */
async function letGo(mesh: MeshProcess): Promise<void> {
  for (const agent of ['left', 'right']) await writeFile(join(mesh.dataOf(agent), 'go'), '')
}

const twice = (lines: readonly string[]) => lines.filter((line, index) => lines.indexOf(line) !== index)

describe('a killed mesh', () => {
  it('with ten runs queued and two running loses none, ends each once, and repeats no effect', async () => {
    heedsLesson(49)
    const mesh = await fleet()
    await ask(mesh, 'left', 'slow 1')
    await ask(mesh, 'right', 'slow 2')
    await eventually('two runs work', async () => {
      const started = [...(await linesOf(mesh, 'left')), ...(await linesOf(mesh, 'right'))]
      return started.includes('slow 1') && started.includes('slow 2')
    })
    const chain = await mesh.submit('chain 1', { key: 'chain 1' })
    await eventually('the operator waits', async () => (await mesh.run(chain)).state === 'waiting')
    for (let n = 3; n < 12; n++) await ask(mesh, n % 2 ? 'left' : 'right', `write ${n}`)
    const before = await mesh.runs()
    expect(before.filter((run) => run.state === 'running')).toHaveLength(2)
    expect(before.filter((run) => run.state === 'queued')).toHaveLength(10)

    await mesh.kill9()
    const processes = await mesh.agentProcesses()
    expect(await Promise.all(processes.map(isAlive))).toEqual(processes.map(() => true))
    // Both tools end meanwhile, and both agents ask for a model that is not there.
    await letGo(mesh)
    await eventually('the agents work on without a mesh', async () => {
      const lines = [...(await linesOf(mesh, 'left')), ...(await linesOf(mesh, 'right'))]
      return lines.includes('slow 1 end') && lines.includes('slow 2 end')
    })
    await sleep(500)
    await mesh.restart()

    const ended = await allEnded(mesh)
    expect(ended).toHaveLength(13)
    expect(ended.filter((run) => run.state !== 'done')).toEqual([])
    expect(ended.find((run) => run.id === chain)?.outcome?.text).toMatch(/^The worker link 0/)
    expectOneOutcomeEach(mesh, ended)
    const lines = [...(await linesOf(mesh, 'left')), ...(await linesOf(mesh, 'right'))]
    expect(twice(lines)).toEqual([])
    expect(lines).toHaveLength(9 + 6)
    expect(await linesOf(mesh, 'left', 'links')).toHaveLength(1)
    // The processes that worked on were taken over, not replaced.
    const after = await mesh.agentProcesses()
    expect(after.map((record) => record.pid)).toEqual(processes.map((record) => record.pid))
    const again = await mesh.submit('write 5', { agent: 'left', session: 'write 5', key: 'left:write 5' })
    expect(ended.map((run) => run.id)).toContain(again)
  })

  it(
    'at any moment of a hand-off chain loses nothing and tells the asker once',
    async () => {
      heedsLesson(48, 53)
      const mesh = await fleet()
      const moments = process.env['FLOTILLA_SOAK'] === '1' ? 30 : 6
      // The first is slow because the workers' processes start; the second gives the length of the chain.
      await mesh.ask('chain 100', { session: 'warm-up' })
      const begun = Date.now()
      await mesh.ask('chain 101', { session: 'measure' })
      const chainMs = Date.now() - begun
      for (let n = 0; n < moments; n++) {
        const asking = mesh
          .submit(`chain ${n}`, { session: `chain ${n}`, key: `chain ${n}` })
          .catch(() => 'not told before the mesh was killed')
        await sleep((chainMs * 1.2 * n) / moments)
        await mesh.kill9()
        const told = await asking
        await mesh.restart()
        const id = await mesh.submit(`chain ${n}`, { session: `chain ${n}`, key: `chain ${n}` })
        if (told.startsWith('run_')) expect(id).toBe(told)
        const run = await mesh.ended(id)
        expect(run.outcome, `killed after ${Math.round((chainMs * 1.2 * n) / moments)} ms`).toMatchObject({
          status: 'done',
        })
        expect(run.outcome?.text).toMatch(/^The worker link \d+/)
      }
      const ended = await allEnded(mesh)
      expect(ended).toHaveLength((moments + 2) * 2)
      expectOneOutcomeEach(mesh, ended)
      expect(await linesOf(mesh, 'left', 'links')).toHaveLength(moments + 2)
      expect((await mesh.command('verify-journal')).code).toBe(0)
    },
    patient(400_000),
  )

  it(
    'and killed again and again with three chains under way ends each run once, with no effect twice',
    async () => {
      const mesh = await fleet()
      const rounds = process.env['FLOTILLA_SOAK'] === '1' ? 25 : 4
      const asked: string[] = []
      for (let round = 0; round < rounds; round++) {
        for (const lane of ['a', 'b', 'c']) {
          const name = `chain ${round}${lane}`
          asked.push(await mesh.submit(name, { session: name, key: name }))
        }
        // Moments spread over the start of the agents, the chains and the recovery of the round before.
        await sleep((round * 137) % 700)
        await mesh.kill9()
        await mesh.restart()
      }
      const ended = await allEnded(mesh)
      expectOneOutcomeEach(mesh, ended)
      const parents = ended.filter((run) => asked.includes(run.id))
      expect(parents).toHaveLength(rounds * 3)
      // A run may be cut off at each of its three attempts; it then says so. Nothing else is an excuse.
      const excused = ended.filter((run) => run.state !== 'done')
      expect(excused.filter((run) => run.outcome?.code !== 'interrupted' || run.outcome.text === '')).toEqual(
        [],
      )
      const links = await linesOf(mesh, 'left', 'links')
      expect(twice(links)).toEqual([])
      expect(links.length).toBeGreaterThanOrEqual(parents.filter((run) => run.state === 'done').length)
    },
    patient(400_000),
  )

  it('together with its agents, as by a power cut, goes on from the checkpoints', async () => {
    const mesh = await fleet()
    const left = await ask(mesh, 'left', 'slow 1')
    const right = await ask(mesh, 'right', 'write 2')
    const queued = await ask(mesh, 'left', 'write 3')
    await eventually('the run works', async () => (await linesOf(mesh, 'left')).includes('slow 1'))
    // Cut off in its command, the other could not tell whether it had written.
    await eventually('the other has written', async () => (await linesOf(mesh, 'right')).length > 0)
    const processes = await mesh.agentProcesses()
    await mesh.kill9()
    for (const { pid } of processes) process.kill(-pid, 'SIGKILL')
    await letGo(mesh)
    await mesh.restart()
    for (const id of [left, right, queued]) expect((await mesh.ended(id)).state).toBe('done')
    // A run that was cut off waits a moment before its next attempt, and lets others of its lane go first.
    const lines = (await linesOf(mesh, 'left')).filter((line) => line !== 'slow 1 end')
    expect(lines.toSorted()).toEqual(['after 1', 'slow 1', 'write 3'])
    expect(await linesOf(mesh, 'right')).toEqual(['write 2'])
    expectOneOutcomeEach(mesh, await mesh.runs())
  })

  it('asked to stop in mid-run leaves the run to its checkpoint and finishes it in its next life', async () => {
    const mesh = await fleet()
    const id = await ask(mesh, 'left', 'slow 7')
    await eventually('the run works', async () => (await linesOf(mesh, 'left')).includes('slow 7'))
    expect(await mesh.terminate()).toBe(0)
    const left = await mesh.agentProcesses()
    expect(await Promise.all(left.map(isAlive))).toEqual(left.map(() => false))

    await mesh.restart()

    const run = await mesh.ended(id)
    expect(run.outcome).toMatchObject({ status: 'done', text: 'Slow 7 is through.' })
    expect(await linesOf(mesh, 'left')).toEqual(['slow 7', 'after 7'])
    expectOneOutcomeEach(mesh, [run])
  })
})

describe('a killed agent', () => {
  it('goes on from its checkpoint, never repeats a command that was cut off, and does not touch the others', async () => {
    verifies('authentication:zone-2:containers')
    const mesh = await fleet()
    const cut = await ask(mesh, 'left', 'slow 1')
    const other = await ask(mesh, 'right', 'slow 2')
    await eventually('both work', async () => {
      const [left, right] = [await linesOf(mesh, 'left'), await linesOf(mesh, 'right')]
      return left.includes('slow 1') && right.includes('slow 2')
    })
    await killAgent(mesh, 'left')
    await letGo(mesh)

    const [cutRun, otherRun] = [await mesh.ended(cut), await mesh.ended(other)]
    expect(otherRun).toMatchObject({ state: 'done', attempt: 1 })
    expect(cutRun.outcome).toMatchObject({ status: 'done', text: 'Slow 1 is through.' })
    expect(cutRun.attempt).toBe(2)
    // A plain process leaves what it had started behind; a container takes it along.
    const lines = await linesOf(mesh, 'left')
    expect(lines.filter((line) => line !== 'slow 1 end')).toEqual(['slow 1', 'after 1'])
    expect(await linesOf(mesh, 'right')).toEqual(['slow 2', 'slow 2 end', 'after 2'])
    expectOneOutcomeEach(mesh, [cutRun, otherRun])
  })

  it('at every attempt ends the run as interrupted, with a reason, and the lane goes on', async () => {
    const mesh = await fleet()
    const reply = mesh.ask('slow 3', { agent: 'left' })
    for (let attempt = 1; attempt <= 3; attempt++) {
      const run = await eventually(`attempt ${attempt} runs`, async () => {
        const [newest] = await mesh.runs()
        const [alive] = (await mesh.agentProcesses()).filter((record) => record.agentId === 'left')
        const works =
          newest?.state === 'running' && newest.attempt === attempt && alive && (await isAlive(alive))
        return works ? newest : null
      })
      expect(run.outcome).toBeNull()
      await killAgent(mesh, 'left')
    }
    const run = await reply
    expect(run.outcome).toMatchObject({ status: 'failed', code: 'interrupted' })
    expect(run.outcome?.text).not.toBe('')
    expect((await mesh.ask('write 4', { agent: 'left', session: 'after' })).state).toBe('done')
    expectOneOutcomeEach(mesh, await mesh.runs())
  })
})

async function killAgent(mesh: MeshProcess, agent: string): Promise<void> {
  const record = (await mesh.agentProcesses()).find((found) => found.agentId === agent)
  if (!record) throw new Error(`${agent} has no process`)
  process.kill(-record.pid, 'SIGKILL')
}
