import type { MeshClient } from '@flotilla/client/mesh-client'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import { describe, expect, it } from 'vitest'
import type { CommandContext } from '../context.ts'
import { createWaitLimit } from './wait-limit.ts'

const waits = {
  type: 'run.changed',
  agent_id: 'operator',
  run_id: 'run_child',
  parent_id: 'run_1',
  state: 'waiting',
  outcome: null,
} as const satisfies FleetEventBody

interface Setup {
  readonly waitingOn?: readonly string[]
  /** The state of every approval; an error if the person may not see it. */
  readonly approval?: 'pending' | 'confirmed' | Error
  readonly isTTY?: boolean
  readonly timeout?: number
}

/** A command that asked for `run_1`; `pass` lets the time of `--timeout` pass. */
function aWaitingCommand({ waitingOn = [], approval = 'pending', isTTY = false, timeout }: Setup) {
  const passed = Promise.withResolvers<void>()
  const sleeps: number[] = []
  const context = {
    signal: new AbortController().signal,
    clock: {
      sleep: (ms: number) => {
        sleeps.push(ms)
        return passed.promise
      },
    },
    input: { isTTY },
    terminal: { json: false },
  } as unknown as CommandContext
  const calls: unknown[] = []
  const client = {
    call: async (name: string, parts: { readonly params: unknown }) => {
      calls.push([name, parts.params])
      if (name === 'run') return { state: 'waiting', waiting_on: waitingOn }
      if (approval instanceof Error) throw approval
      return { state: approval }
    },
  } as unknown as MeshClient
  const waitLimit = createWaitLimit(context, client, timeout)
  waitLimit.begin('run_1')
  return { waitLimit, calls, sleeps, pass: passed.resolve }
}

/** Lets the calls of the fake client end. */
const asked = () => new Promise((resolve) => setImmediate(resolve))

describe('a command that waits for an answer', () => {
  it('without a terminal ends when a run waits for a person, and names the run that it asked for', async () => {
    const { waitLimit, calls } = aWaitingCommand({ waitingOn: ['appr_1'] })
    waitLimit.onEvent(waits)
    await asked()
    expect(calls).toEqual([
      ['run', { id: 'run_child' }],
      ['pendingOne', { id: 'appr_1' }],
    ])
    expect(waitLimit.signal.reason).toMatchObject({ code: 'unfinished', exitCode: 5 })
    expect(String(waitLimit.signal.reason)).toContain('run_1 waits for you')
  })

  it.each([
    ['the browser of an agent', { waitingOn: ['hand_1'] }],
    ['an approval that only owners may see', { waitingOn: ['appr_1'], approval: new Error('denied') }],
  ])('without a terminal ends when a run waits for %s', async (_what, setup) => {
    const { waitLimit } = aWaitingCommand(setup)
    waitLimit.onEvent(waits)
    await asked()
    expect(waitLimit.signal.aborted).toBe(true)
  })

  it.each([
    ['another agent’s task', { waitingOn: ['task_1'] }],
    ['another agent’s answer', { waitingOn: ['msg_1'] }],
    ['versions of packages that the mesh chooses', { waitingOn: ['pack_1'] }],
    ['an action that a person has approved', { waitingOn: ['appr_1'], approval: 'confirmed' as const }],
  ])('goes on waiting for %s', async (_what, setup) => {
    const { waitLimit } = aWaitingCommand(setup)
    waitLimit.onEvent(waits)
    await asked()
    expect(waitLimit.signal.aborted).toBe(false)
  })

  it('ends when a run that waits already asks a person', async () => {
    const { waitLimit } = aWaitingCommand({ waitingOn: ['appr_1'] })
    waitLimit.onEvent({
      type: 'approval.asked',
      approval_id: 'appr_1',
      agent_id: 'operator',
      run_id: 'run_1',
      summary: 'Add packages',
      expires_at: 1,
    })
    await asked()
    expect(waitLimit.signal.aborted).toBe(true)
  })

  it.each([
    ['at a terminal', { isTTY: true }],
    ['with --timeout', { timeout: 60 }],
  ])('%s waits for the person', (_where, setup) => {
    const { waitLimit, calls } = aWaitingCommand({ ...setup, waitingOn: ['appr_1'] })
    waitLimit.onEvent(waits)
    expect(calls).toEqual([])
    expect(waitLimit.signal.aborted).toBe(false)
  })

  it('ends after the time of --timeout', async () => {
    const { waitLimit, sleeps, pass } = aWaitingCommand({ timeout: 60 })
    expect(sleeps).toEqual([60_000])
    pass()
    await Promise.resolve()
    await Promise.resolve()
    expect(waitLimit.signal.reason).toMatchObject({ code: 'unfinished', exitCode: 5 })
  })
})
