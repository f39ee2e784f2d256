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
  readonly isTTY?: boolean
  readonly timeout?: number
}

/** A command that asked for `run_1`; `pass` lets the time of `--timeout` pass. */
function aWaitingCommand({ waitingOn = [], isTTY = false, timeout }: Setup) {
  const passed = Promise.withResolvers<void>()
  const sleeps: number[] = []
  const answered = Promise.withResolvers<void>()
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
      queueMicrotask(answered.resolve)
      return { state: 'waiting', waiting_on: waitingOn }
    },
  } as unknown as MeshClient
  const waitLimit = createWaitLimit(context, client, timeout)
  waitLimit.begin('run_1')
  return { waitLimit, calls, sleeps, pass: passed.resolve, answered: answered.promise }
}

describe('a command that waits for an answer', () => {
  it('without a terminal ends when a run waits for a person, and names the run that it asked for', async () => {
    const { waitLimit, calls, answered } = aWaitingCommand({ waitingOn: ['appr_1'] })
    waitLimit.onEvent(waits)
    await answered
    await Promise.resolve()
    expect(calls).toEqual([['run', { id: 'run_child' }]])
    expect(waitLimit.signal.reason).toMatchObject({ code: 'unfinished', exitCode: 5 })
    expect(String(waitLimit.signal.reason)).toContain('run_1 waits for you')
  })

  it.each(['task_1', 'msg_1'])('goes on waiting for another agent (%s)', async (id) => {
    const { waitLimit, answered } = aWaitingCommand({ waitingOn: [id] })
    waitLimit.onEvent(waits)
    await answered
    await Promise.resolve()
    expect(waitLimit.signal.aborted).toBe(false)
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
