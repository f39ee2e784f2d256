import { describe, expect, test } from 'vitest'
import { onceOnly } from '../../../foundation/src/storage/resumable.ts'
import { aHomeThatPays, approvedPayments } from '../../../testing/src/approved-payments-harness.ts'
import { never, owner, scout } from '../../../testing/src/payments-harness.ts'

const stranger = '0x90F79bf6EB2c4f870365E785982E1f101E93b906'
const token = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65'
const hourMs = 3_600_000

const inRun = (runId: string, agentId = 'scout') => ({
  ...scout,
  agentId,
  run: {
    runId,
    agentId,
    fence: 1,
    taskId: null,
    origin: { kind: 'human', channel: 'cli' } as const,
    budgetUsd: null,
    budgetTokens: null,
  },
})

describe('an equal payment', () => {
  test('an equal payment of the same caller joins the pending one: two requests and two confirmations pay once', async () => {
    const { send, approvals, chain, states } = approvedPayments(aHomeThatPays())
    const first = await send('2')
    const second = await send('2.0')
    expect(first).toMatchObject({ state: 'waiting', approval_id: 'appr_1' })
    expect(first).not.toHaveProperty('joined')
    expect(second).toMatchObject({
      state: 'waiting',
      approval_id: 'appr_1',
      joined:
        'You already requested an equal payment, which waits for approval as appr_1. Both requests lead to one payment, not two.',
    })
    const [shown] = approvals.list(owner, { open: true, limit: 9 })
    expect(approvals.list(owner, { open: true, limit: 9 })).toHaveLength(1)
    const clicks = await Promise.allSettled([
      approvals.confirm(owner, shown!),
      approvals.confirm(owner, shown!),
    ])
    expect(clicks.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(states()).toEqual(['sent'])
    expect(new Set(chain.received).size).toBe(1)
  })

  test('an equal payment joins also after prices moved, in another spelling, and as a call of the token', async () => {
    const home = aHomeThatPays()
    const { send, chain, pay, database } = approvedPayments(home, {
      record: { wallet_allowed_contracts: [token] },
    })
    chain.tokens.set(token.toLowerCase(), { decimals: 6, symbol: 'USDX' })
    expect(await send('2', { token })).toMatchObject({ approval_id: 'appr_1' })
    expect(await send('2.00', { token: token.toLowerCase() })).toMatchObject({
      approval_id: 'appr_1',
      joined: expect.any(String),
    })
    const dearer = approvedPayments(home, { record: { wallet_allowed_contracts: [token] }, coinUsd: 2n })
    expect(await dearer.send('2', { token })).toMatchObject({ approval_id: 'appr_1' })
    expect(await send('2.1', { token })).toMatchObject({ approval_id: 'appr_2' })
    expect(await send('2', { token, to: stranger })).toMatchObject({ approval_id: 'appr_3' })
    expect(await send('2')).toMatchObject({ approval_id: 'appr_4' })
    const call = { chain: 'base' as const, contract: token, function: 'f(uint256)', args: ['1'] }
    const execute = (args: string[], key: string) =>
      pay.execute(scout, { ...call, args, amount: '2' }, { step: onceOnly(database), key, signal: never })
    expect(await execute(['1'], 'k1')).toMatchObject({ approval_id: 'appr_5' })
    expect(await execute(['1'], 'k2')).toMatchObject({ approval_id: 'appr_5' })
    expect(await execute(['2'], 'k3')).toMatchObject({ approval_id: 'appr_6' })
  })

  test('equal payments of different callers wait separately, and each names the other', async () => {
    const { send, approvals, events } = approvedPayments(aHomeThatPays())
    await send('2')
    await send('2', { as: { ...scout, agentId: 'other' } })
    const lines = (id: string) => approvals.read(owner, id).consequences[0]
    expect(lines('appr_1')).toMatch(
      /^WARNING: an equal payment waits for a person as well, asked for by agent:other at \d{4}-\d\d-\d\d \d\d:\d\d UTC \(appr_2\)\.$/,
    )
    expect(lines('appr_2')).toContain('asked for by agent:scout')
    expect(events.bodies.map((body) => ('repeats' in body ? body.repeats : []))).toEqual([
      [],
      [expect.stringContaining('(appr_1)')],
    ])
  })

  test('an equal payment of the last day is named with its result, and older ones are not', async () => {
    const home = aHomeThatPays()
    const { send, poll, chain, clock } = approvedPayments(home)
    await send('0.5')
    chain.mine(3)
    await poll()
    // From here on every payment needs approval.
    const strict = approvedPayments(home, { wallet: { approve_above_usd: 0 } })
    await strict.send('0.5', { key: 'later' })
    expect(strict.approvals.list(owner, { open: true, limit: 9 })).toMatchObject([
      {
        consequences: expect.arrayContaining([
          expect.stringMatching(
            /^WARNING: an equal payment of scout was signed at .* UTC and is confirmed \(pay_1\)\.$/,
          ),
        ]),
      },
    ])
    await clock.leap(25 * hourMs)
    strict.approvals.sweep()
    await strict.send('0.5', { key: 'much later' })
    const open = strict.approvals.list(owner, { open: true, limit: 9 })
    expect(open).toHaveLength(1)
    expect(open[0]?.consequences.filter((words) => words.includes('equal'))).toEqual([])
  })

  test('of many equal payments the five newest are named of each kind, and the others are counted', async () => {
    const home = aHomeThatPays()
    const before = approvedPayments(home)
    for (let count = 0; count < 7; count += 1) await before.send('0.5')
    const strict = approvedPayments(home, { wallet: { approve_above_usd: 0 } })
    for (let count = 0; count < 7; count += 1) {
      await strict.send('0.5', { as: { ...scout, agentId: `other${count}` }, key: `other ${count}` })
    }
    await strict.send('0.5', { key: 'the last' })
    const shown = strict.approvals.list(owner, { open: true, limit: 1 })[0]!
    const equal = shown.consequences.filter((words) => words.includes('equal'))
    expect(equal.map((words) => /\((?:pay|appr)_\d+\)|\d more/.exec(words)?.[0])).toEqual([
      '(pay_7)',
      '(pay_6)',
      '(pay_5)',
      '(pay_4)',
      '(pay_3)',
      '2 more',
      ...equal.slice(6, 11).map((words) => /\(appr_\d+\)/.exec(words)?.[0]),
      '2 more',
    ])
    expect(equal[5]).toBe('WARNING: 2 more equal payments were signed in the last 24 hours.')
    expect(equal[11]).toBe('WARNING: 2 more equal payments wait for a person as well.')
  })

  test('a payment is not named as equal to itself', async () => {
    const home = aHomeThatPays()
    await approvedPayments(home).send('0.5', { key: 'same' })
    const strict = approvedPayments(home, { wallet: { approve_above_usd: 0 } })
    await strict.send('0.5', { key: 'same' })
    const [shown] = strict.approvals.list(owner, { open: true, limit: 1 })
    expect(shown!.consequences.filter((words) => words.includes('equal'))).toEqual([])
  })

  test('exactly five equal payments are named, and none is counted', async () => {
    const home = aHomeThatPays()
    const before = approvedPayments(home)
    for (let count = 0; count < 5; count += 1) await before.send('0.5')
    const strict = approvedPayments(home, { wallet: { approve_above_usd: 0 } })
    await strict.send('0.5', { key: 'the last' })
    const shown = strict.approvals.list(owner, { open: true, limit: 1 })[0]!
    expect(shown.consequences.filter((words) => words.includes('equal'))).toHaveLength(5)
  })

  test('an equal payment that provably never left is not named', async () => {
    const home = aHomeThatPays()
    const { send, chain, poll, states, manage } = approvedPayments(home)
    chain.onBroadcast = () => {}
    await send('0.5')
    chain.sendElsewhere(home.on.sender)
    chain.mine(3)
    await poll()
    expect(states()).toEqual(['replaced'])
    manage.resume(owner)
    const strict = approvedPayments(home, { wallet: { approve_above_usd: 0 } })
    await strict.send('0.5', { key: 'again' })
    expect(strict.approvals.list(owner, { open: true, limit: 1 })[0]?.consequences.join()).not.toContain(
      'equal',
    )
  })
})

describe('runs that asked for an equal payment', () => {
  test('runs that requested an equal payment wait for one approval, and each receives its result', async () => {
    const { send, approvals, told, trail } = approvedPayments(aHomeThatPays())
    await send('2', { as: inRun('run_1') })
    await send('2', { as: inRun('run_2') })
    await send('2', { as: inRun('run_2'), key: 'once more' })
    expect(trail.entries.map(({ action }) => action)).toEqual([
      'approval.asked',
      'approval.joined',
      'approval.joined',
    ])
    const [shown] = approvals.list(owner, { open: true, limit: 1 })
    await approvals.confirm(owner, shown!)
    expect(told.map(({ runId }) => runId)).toEqual(['run_1', 'run_2'])
  })

  test('an approval shared by several runs is withdrawn only when all of them are cancelled', async () => {
    const { send, approvals, told } = approvedPayments(aHomeThatPays())
    await send('2', { as: inRun('run_1') })
    await send('2', { as: inRun('run_2') })
    const cancelled = (id: string) => approvals.runSettled({ id, state: 'cancelled' } as never)
    cancelled('run_1')
    expect(approvals.read(owner, 'appr_1')).toMatchObject({ state: 'pending', run_id: 'run_2' })
    cancelled('run_2')
    expect(approvals.read(owner, 'appr_1')).toMatchObject({ state: 'cancelled' })
    expect(told.map(({ runId }) => runId)).toEqual(['run_2'])
  })
})
