import type { RunView } from '@flotilla/protocol/run'
import { describe, expect, test } from 'vitest'
import { approvalRequired, createApprovedEffects } from './approved-effect.ts'
import type { AgentCaller, ApprovedEffectsDeps } from './approved-effect.ts'

const ticket = { agentId: 'scout', runId: 'run_1', fence: 3 }
const caller = { kind: 'agent', agentId: 'scout', token: 'door', run: ticket } as unknown as AgentCaller
const row = { id: 'appr_1', state: 'pending', detail: '', joined: false }
const decision = { verdict: 'ask', rule: 'orders', line: 3, reason: 'An order.' } as const
const args = {
  agent_id: 'scout',
  run_id: 'run_1',
  once: 'key',
  fence: 3,
  rule: 'orders',
  because: 'An order.',
}
const run = {
  agentId: 'scout',
  state: 'waiting',
  fence: 9,
  origin: { kind: 'human' },
  budgetUsd: 1,
  budgetTokens: 2,
  taskId: 'task_1',
}

function aRoom(more: { readonly runs?: Readonly<Record<string, object>>; readonly isBegun?: boolean } = {}) {
  const runs: Readonly<Record<string, object>> = more.runs ?? { run_1: run, run_2: { ...run, fence: 4 } }
  const asked: unknown[] = []
  const calls: object[] = []
  const begun: unknown[] = []
  const steps: string[] = []
  const effects = createApprovedEffects({
    ask: ((_caller: unknown, request: unknown) => {
      asked.push(request)
      return row
    }) as never,
    ofCall: ((runId: string, key: string) =>
      runId === 'run_1' && key === 'known' ? { ...row, id: 'appr_0', state: 'done' } : null) as never,
    effects: {
      wasBegun: (of: unknown) => {
        begun.push(of)
        return more.isBegun === true
      },
      outside: async (call: object, send: (line: unknown) => Promise<unknown>) => {
        calls.push(call)
        return send({ signal: AbortSignal.timeout(60_000), dispatching: () => steps.push('recorded') })
      },
    } as unknown as ApprovedEffectsDeps['effects'],
    runs: { find: (id: string) => (runs[id] ?? null) as RunView | null } as never,
    newId: (kind: string) => `${kind}_new`,
  })
  return { effects, asked, calls, begun, steps }
}

describe('an effect that a person must approve', () => {
  test('is stored with its run, its fence and the rule that asks', () => {
    const { effects, asked } = aRoom()
    expect(effects.ask(caller, 'http-request', { decision, args: { url: 'x' }, key: 'mine' })).toBe(row)
    expect(asked).toEqual([{ kind: 'http-request', args: { ...args, url: 'x', once: 'mine' } }])
  })

  test('has a key of its own without one of the call, and no rule if none is named', () => {
    const { effects, asked } = aRoom()
    effects.ask(caller, 'http-request', { decision: { ...decision, rule: null }, args: {} })
    expect(asked).toEqual([{ kind: 'http-request', args: { ...args, once: 'call_new', rule: '' } }])
  })

  test('of a repeated call is the approval of its first time, in any state, and is not asked for again', () => {
    const { effects, asked } = aRoom()
    expect(effects.ask(caller, 'http-request', { decision, args: {}, key: 'known' })).toEqual({
      ...row,
      id: 'appr_0',
      state: 'done',
      joined: true,
    })
    expect(asked).toEqual([])
  })

  test('is refused to a caller without a run', () => {
    const { effects, asked } = aRoom()
    const alone = { ...caller, run: null } as AgentCaller
    expect(() => effects.ask(alone, 'http-request', { decision, args: {} })).toThrow(
      expect.objectContaining({ code: 'stale-fence' }),
    )
    expect(asked).toEqual([])
  })
})

describe('an approved effect', () => {
  test('is sent for its run, as one effect of the record, after its time was checked', async () => {
    const { effects, calls, steps } = aRoom()
    const confirmed = { runId: 'run_1', requireInTime: () => void steps.push('in time') } as never
    const sent = await effects.once(args, confirmed, async (as, line) => {
      line.dispatching()
      return as
    })
    const { fence: _fence, state: _state, ...of } = run
    expect(sent).toEqual({
      kind: 'agent',
      agentId: 'scout',
      token: 'door',
      run: { ...of, runId: 'run_1', fence: 3 },
    })
    expect(calls).toEqual([{ agentId: 'scout', runId: 'run_1', key: 'approved key', request: args }])
    expect(steps).toEqual(['in time', 'recorded'])
  })

  test('whose time is over when it would leave is not recorded as sent', async () => {
    const { effects, steps } = aRoom()
    const late = {
      runId: 'run_1',
      requireInTime: () => {
        throw new Error('too late')
      },
    } as never
    await expect(effects.once(args, late, async (_as, line) => line.dispatching())).rejects.toThrow(
      'too late',
    )
    expect(steps).toEqual([])
  })

  test('without a confirmed line is that of the run that asked', async () => {
    const { effects, calls, steps } = aRoom()
    await effects.once(args, undefined, async (_as, line) => line.dispatching())
    expect(calls).toMatchObject([{ runId: 'run_1' }])
    expect(steps).toEqual(['recorded'])
  })

  test('that another run waits for has the fence of that run', async () => {
    const { effects, calls } = aRoom()
    const other = { runId: 'run_2', requireInTime: () => {} } as never
    const sent = await effects.once(args, other, async ({ run: of }) => of)
    expect(sent).toMatchObject({ runId: 'run_2', fence: 4 })
    expect(calls).toMatchObject([{ runId: 'run_2', key: 'approved key' }])
  })

  test.each<[string, Readonly<Record<string, object>>]>([
    ['is gone', {}],
    ['has ended', { run_1: { ...run, state: 'done' } }],
    ['belongs to another agent', { run_1: { ...run, agentId: 'other' } }],
  ])('whose run %s is not sent, and says so, unless it may have left before', async (_what, runs) => {
    const never = () => expect.fail('it was sent')
    const { effects, calls, begun } = aRoom({ runs })
    await expect(effects.once(args, undefined, never)).rejects.toMatchObject({
      code: 'conflict',
      detail: 'the run that requested this has ended, so nothing was sent',
    })
    expect(begun).toEqual([{ runId: 'run_1', key: 'approved key' }])
    await expect(aRoom({ runs, isBegun: true }).effects.once(args, undefined, never)).rejects.toMatchObject({
      code: 'outcome-unknown',
      detail: expect.stringContaining('it may have taken effect') as string,
    })
    expect(calls).toEqual([])
  })

  test('with arguments of another form is not sent', async () => {
    const { effects, calls } = aRoom()
    await expect(effects.once({ ...args, fence: 'x' }, undefined, async () => 1)).rejects.toThrow(Error)
    expect(calls).toEqual([])
  })
})

describe('what an agent is told of an effect that waits', () => {
  test.each([
    [{}, 'The request waits for a person as appr_1, and was not sent: An order.'],
    [{ joined: true }, 'An equal request already waits for a person as appr_1, and was not sent: An order.'],
    [{ state: 'confirmed' }, 'The request waits for a person as appr_1, and was not sent: An order.'],
    [
      { state: 'cancelled', detail: 'Refused.' },
      'This request waited for a person as appr_1, which is cancelled: Refused.',
    ],
    [{ state: 'done', detail: 'Sent.' }, 'This request waited for a person as appr_1, which is done: Sent.'],
  ] as const)('%j', (more, detail) => {
    expect(approvalRequired('request', { ...row, ...more } as never, 'An order.')).toMatchObject({
      code: 'approval-required',
      detail,
      extra: { approval: 'appr_1' },
    })
  })
})
