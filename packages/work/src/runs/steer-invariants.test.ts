import { isTerminal } from '@flotilla/protocol/run'
import { Problem } from '@flotilla/protocol/problem'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import type { Caller } from '../../../identity/src/access/caller.ts'
import type { FakeRun } from '../../../testing/src/fake-agents.ts'
import { patient } from '../../../../tests/support/patience.ts'
import { aLedgerHarness, person } from '../../../testing/src/ledger-harness.ts'
import type { LedgerHarness } from '../../../testing/src/ledger-harness.ts'
import { ticketFor } from './ledger/live-runs.ts'

const agentIds = ['operator', 'ada'] as const

/**
 * What an agent has on disk for one turn: the steers in its conversation, including those not yet confirmed to the
 * mesh.
 */
interface Checkpoint {
  readonly history: string[]
  unacknowledged: number
}

interface Play {
  harness: LedgerHarness
  /** Checkpoints by run and message, which is how the real agent identifies a turn. They outlive the agent. */
  readonly disks: Map<string, Checkpoint>
  /** Steer and run, one entry each time that a model read the steer. */
  readonly shown: { readonly steerId: string; readonly runId: string }[]
  readonly accepted: Set<string>
  said: number
}

const step = fc.oneof(
  fc.record({
    do: fc.constantFrom(
      'chat',
      'chat',
      'chat',
      'steer',
      'steer',
      'steer',
      'steer',
      'store',
      'store',
      'store',
      'ask',
      'tell-and-die',
      'finish',
      'fail',
      'die',
      'break',
      'hang',
      'give',
      'cancel',
    ),
    agent: fc.nat({ max: agentIds.length - 1 }),
  }),
  fc.record({ do: fc.constant('wait'), agent: fc.constantFrom(1, 3, 20, 70) }),
  fc.record({ do: fc.constantFrom('crash', 'crash-unheard'), agent: fc.nat({ max: agentIds.length - 1 }) }),
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

function diskOf(play: Play, run: FakeRun): Checkpoint {
  const key = `${run.runId}\n${run.message}`
  const disk = play.disks.get(key) ?? { history: [], unacknowledged: 0 }
  play.disks.set(key, disk)
  return disk
}

/** The agent as a caller under the fencing token that it knows, which may be an old one. */
function callerFor(play: Play, run: FakeRun, agentId: string): Caller | null {
  const row = play.harness.ledger.queries.find(run.runId)
  if (!row) return null
  return { kind: 'agent', agentId, token: 'door', run: { ...ticketFor(row), fence: run.fence } }
}

/** Confirms steers to the mesh; true when all in the conversation are confirmed. */
function tell(play: Play, run: FakeRun, agentId: string): boolean {
  const disk = diskOf(play, run)
  if (disk.unacknowledged === 0) return true
  const caller = callerFor(play, run, agentId)
  if (!caller) return false
  try {
    play.harness.ledger.steering.takeSteers(caller, {
      ids: disk.history.slice(-disk.unacknowledged),
      step: 1,
    })
    return true
  } catch (error) {
    if (error instanceof Problem) return false
    throw error
  }
}

function act(play: Play, what: string, agentId: string): void {
  const { harness } = play
  const run = harness.agents.working(agentId)
  switch (what) {
    case 'chat':
      return void harness.chat(agentId)
    case 'steer':
      return void play.accepted.add(harness.steer(agentId, `word ${++play.said}`).id)
    case 'cancel': {
      const live = harness.ledger.queries.list({ agentId, limit: 50 }).find((one) => !isTerminal(one.state))
      return live && void harness.ledger.lifecycle.cancelRun(person, live.id)
    }
    case 'die':
      return harness.agents.die(agentId)
    case 'break':
      return harness.agents.breakStreams(agentId)
    case 'hang':
      return harness.agents.hang(agentId, play.said % 2 === 0)
    default:
      if (run) work(play, what, { run, agentId })
  }
}

function work(play: Play, what: string, { run, agentId }: { run: FakeRun; agentId: string }): void {
  const { harness } = play
  const disk = diskOf(play, run)
  switch (what) {
    case 'store': {
      if (!tell(play, run, agentId)) return
      show(play, run, disk)
      const fresh = [...run.steers.keys()].filter((id) => !disk.history.includes(id))
      disk.history.push(...fresh)
      disk.unacknowledged = fresh.length
      return
    }
    case 'ask':
      if (tell(play, run, agentId)) show(play, run, disk)
      return
    case 'tell-and-die':
      tell(play, run, agentId)
      harness.agents.die(agentId)
      return
    case 'finish':
    case 'fail': {
      if (!tell(play, run, agentId)) return
      show(play, run, disk)
      const failed = { status: 'failed', error: { code: 'model-failed', detail: 'no' } } as const
      harness.agents.finish(agentId, what === 'finish' ? {} : failed)
      return
    }
    case 'give': {
      if (agentId !== 'operator') return
      try {
        harness.handOff(harness.callerOf(agentId), { to: 'ada', title: 'work', description: '', data: {} })
      } catch (error) {
        if (!(error instanceof Problem)) throw error
      }
    }
  }
}

/** The model reads the steers that the agent has confirmed. */
function show(play: Play, run: FakeRun, disk: Checkpoint): void {
  for (const steerId of disk.history.slice(disk.history.length - disk.unacknowledged)) {
    play.shown.push({ steerId, runId: run.runId })
  }
  disk.unacknowledged = 0
}

async function perform(play: Play, next: Step): Promise<void> {
  const agentId = agentIds[next.agent] ?? 'operator'
  if (next.do === 'wait') await play.harness.clock.advance(next.agent * 1000)
  else if (next.do === 'crash' || next.do === 'crash-unheard') {
    // The mesh is killed after it accepted a steer and before it sent it.
    if (next.do === 'crash-unheard') act(play, 'steer', agentId)
    play.harness = await play.harness.restarted()
    play.harness.ledger.start()
  } else act(play, next.do, agentId)
  await play.harness.clock.settle()
}

async function workToTheEnd(play: Play): Promise<void> {
  for (const agentId of agentIds) play.harness.agents.hang(agentId, false)
  for (let round = 0; round < 300; round++) {
    if (play.harness.ledger.queries.list({ limit: 500 }).every((run) => isTerminal(run.state))) return
    for (const agentId of agentIds) act(play, 'finish', agentId)
    await play.harness.clock.advance(2000)
  }
}

function check({ harness, shown, accepted, disks }: Play): void {
  const runs = harness.ledger.queries.list({ limit: 500 })
  const steers = new Map(runs.flatMap((run) => harness.steersOf(run)).map((steer) => [steer.id, steer]))
  expect([...steers.keys()].toSorted()).toEqual([...accepted].toSorted())
  for (const steer of steers.values()) {
    const showings = shown.filter(({ steerId }) => steerId === steer.id)
    const asRun = runs.filter(({ input }) => input.kind === 'chat' && input.message === steer.text)
    const places = [...disks.values()].flatMap(({ history }) => history.filter((id) => id === steer.id))
    expect(places.length).toBeLessThan(2)
    expect(showings.length).toBeLessThan(2)
    if (steer.state === 'became-run') {
      expect([showings, asRun.map((run) => run.id)]).toEqual([[], [steer.became_run_id]])
      continue
    }
    if (steer.state === 'returned') {
      expect([showings, asRun, harness.state({ id: steer.run_id ?? '' })]).toEqual([[], [], 'cancelled'])
      continue
    }
    expect([steer.state, asRun]).toEqual(['taken', []])
    expect(showings.every(({ runId }) => runId === steer.run_id)).toBe(true)
    // A run that was interrupted for good or cancelled after it accepted a steer may not have read it.
    if (harness.state({ id: steer.run_id ?? '' }) === 'done') expect(showings).toHaveLength(1)
  }
}

test(
  'in any order of events, each accepted steer is read exactly once by exactly one run',
  async () => {
    heedsLesson(60)
    const plays = process.env['FLOTILLA_SOAK'] === '1' ? 600 : 60
    const ends = { taken: 0, became: 0 }
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
        const play: Play = {
          harness: aLedgerHarness(),
          disks: new Map(),
          shown: [],
          accepted: new Set(),
          said: 0,
        }
        play.harness.ledger.start()
        for (const agent of agentIds.keys()) await perform(play, { do: 'chat', agent })
        for (const next of steps) await perform(play, next)
        await workToTheEnd(play)
        const open = play.harness.ledger.queries.list({ limit: 500 }).filter((run) => !isTerminal(run.state))
        expect(open).toEqual([])
        check(play)
        for (const run of play.harness.ledger.queries.list({ limit: 500 })) {
          for (const steer of play.harness.steersOf(run)) {
            if (steer.state === 'taken') ends.taken++
            else if (steer.became_run_id !== null && steer.run_id !== null) ends.became++
          }
        }
        await play.harness.ledger.close()
        play.harness.database.close()
      }),
      { numRuns: plays },
    )
    // Both ends occurred often enough for the test to be meaningful.
    expect(Math.min(ends.taken, ends.became)).toBeGreaterThan(plays / 5)
  },
  patient(60_000),
)
