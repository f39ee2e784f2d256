import fc from 'fast-check'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { paymentApprovalKind } from '@flotilla/protocol/wallet-payments'
import { describe, expect, test } from 'vitest'
import { createApprovalTable } from '../../../work/src/approvals/approval-table.ts'
import { aHomeThatPays, approvedPayments } from '../../../testing/src/approved-payments-harness.ts'
import { friend, owner, scout } from '../../../testing/src/payments-harness.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Never resolves; represents a step that was running when the power failed. */
const forever = () => new Promise<never>(() => {})

type Home = ReturnType<typeof aHomeThatPays>
type Process = ReturnType<typeof approvedPayments>

/** Confirms a payment in a process that dies at that step. */
async function confirmAndDie(home: Home, at: 'plan' | 'send' | 'record', id: string): Promise<void> {
  const dying = approvedPayments(home)
  const shown = dying.approvals.read(owner, id)
  const { plan, broadcast } = home.chain
  const reached = Promise.withResolvers<void>()
  const dies = () => {
    reached.resolve()
    return forever()
  }
  if (at === 'plan') home.chain.plan = dies
  home.chain.broadcast = async (signed, signal) => {
    if (at === 'record') await broadcast(signed, signal)
    return dies()
  }
  const ended = dying.approvals.confirm(owner, shown)
  // The payment is refused or ends before that step when the wallet or a limit stops it earlier.
  await Promise.race([reached.promise, ended.catch(() => {})])
  Object.assign(home.chain, { plan, broadcast })
}

describe('a payment that was confirmed before the power went', () => {
  const crashed = async (at: 'plan' | 'send' | 'record') => {
    const home = aHomeThatPays()
    await approvedPayments(home).send('2')
    await confirmAndDie(home, at, 'appr_1')
    return home
  }

  test('a payment confirmed before a power failure is signed at the next start while it is valid', async () => {
    const home = await crashed('plan')
    await home.clock.leap(dayMs - 1)
    const { approvals, states } = approvedPayments(home)
    await approvals.resume()
    expect(approvals.read(owner, 'appr_1')).toMatchObject({ state: 'done', resolved_by: 'human:cli' })
    expect(states()).toEqual(['sent'])
  })

  test.each([
    ['a day', dayMs],
    ['a week', 7 * dayMs],
  ])(
    'a payment confirmed before a power failure expires with a notification and without a signature once %s has passed',
    async (_name, passedMs) => {
      const home = aHomeThatPays()
      const run = {
        runId: 'run_1',
        agentId: 'scout',
        fence: 1,
        taskId: null,
        origin: { kind: 'human', channel: 'cli' } as const,
        budgetUsd: null,
        budgetTokens: null,
      }
      await approvedPayments(home).send('2', { as: { ...scout, run } })
      await confirmAndDie(home, 'plan', 'appr_1')
      await home.clock.leap(passedMs)
      const { approvals, states, told } = approvedPayments(home)
      await approvals.resume()
      expect(states()).toEqual([])
      expect(approvals.read(owner, 'appr_1')).toMatchObject({
        state: 'expired',
        detail: expect.stringContaining('the approval expired before'),
      })
      expect(told).toMatchObject([{ runId: 'run_1', note: { state: 'expired' } }])
    },
  )

  test.each(['send', 'record'] as const)(
    'a payment signed before a power failure leaves once, however late the next start is (%s)',
    async (at) => {
      const home = await crashed(at)
      await home.clock.leap(7 * dayMs)
      const { approvals, states, poll } = approvedPayments(home)
      await approvals.resume()
      expect(approvals.read(owner, 'appr_1').state).toBe('done')
      await poll()
      home.chain.mine(3)
      // It is a week old and is polled every ten minutes.
      await home.clock.leap(10 * 60_000)
      await poll()
      expect(states()).toEqual(['confirmed'])
      expect(new Set(home.chain.received).size).toBe(1)
    },
  )
})

describe('a payment is not signed where, while its chain was asked,', () => {
  /** What happens between the confirmation and the signature. */
  const during = async (happens: (process: Process, home: Home) => void | Promise<void>) => {
    const home = aHomeThatPays()
    const process = approvedPayments(home)
    await process.send('2')
    const { plan } = home.chain
    home.chain.plan = async (...given) => {
      await happens(process, home)
      return plan(...given)
    }
    const end = await process.approvals.confirm(owner, process.approvals.read(owner, 'appr_1'))
    expect(process.states()).toEqual([])
    return end
  }

  test('a payment is not signed when its approval expired while the chain was asked', async () => {
    expect(await during((_process, { clock }) => void (clock.leap(dayMs) as unknown))).toMatchObject({
      state: 'expired',
    })
  })

  test('a payment is not signed when the wallet was stopped while the chain was asked', async () => {
    const end = await during(({ table }) => table.stop('another program signs', 0))
    expect(end).toMatchObject({ state: 'failed', detail: 'another program signs' })
  })

  test('a payment is not signed when a limit was lowered while the chain was asked', async () => {
    const end = await during(({ record }) => void Object.assign(record, { wallet_spend_limit_daily_usd: 1 }))
    expect(end).toMatchObject({
      state: 'failed',
      detail: expect.stringContaining('the limit is 1 US dollars a day'),
    })
  })

  test('a payment is not signed when the agent lost its permissions while the chain was asked', async () => {
    const end = await during(({ record }) => void Object.assign(record, permissionRecordSchema.parse({})))
    expect(end).toMatchObject({ state: 'failed', detail: expect.stringContaining('can_use_wallet') })
  })

  test('a payment is not signed when its agent was replaced by one with another address while the chain was asked', async () => {
    const end = await during((_process, { on }) => void (on.sender = friend))
    expect(end).toMatchObject({ state: 'failed', detail: expect.stringContaining('may no longer pay') })
  })
})

test('a payment that another process signed while the chain was asked is done, also after the approval expired', async () => {
  const home = aHomeThatPays()
  const process = approvedPayments(home)
  await process.send('2')
  const { plan } = home.chain
  home.chain.plan = async (...given) => {
    home.chain.plan = plan
    await process.pay.kind.carryOut(owner as never, createApprovalTable(home.database).find('appr_1')!.args)
    // Not awaited, because the time limit of the confirmation must not end it first.
    void home.clock.leap(dayMs)
    return plan(...given)
  }
  expect(await process.approvals.confirm(owner, process.approvals.read(owner, 'appr_1'))).toMatchObject({
    state: 'done',
  })
  expect(process.states()).toEqual(['sent'])
})

test('a payment that was cancelled or whose agent was deleted cannot be confirmed', async () => {
  const { send, approvals, states } = approvedPayments(aHomeThatPays())
  await send('2')
  await send('3')
  const [three, two] = approvals.list(owner, { open: true, limit: 2 })
  approvals.cancel(owner, two!.id)
  approvals.forget('scout')
  for (const one of [two!, three!]) {
    await expect(approvals.confirm(owner, one)).rejects.toMatchObject({ code: 'approval-used' })
  }
  expect(states()).toEqual([])
})

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('ask' as const),
      amount: fc.constantFrom('2', '2.0', '3'),
      agent: fc.constantFrom('scout', 'other'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('confirm' as const),
      which: fc.nat(7),
      clicks: fc.constantFrom(1, 2, 3),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('confirm-and-die' as const),
      which: fc.nat(7),
      at: fc.constantFrom('plan' as const, 'send' as const, 'record' as const),
      downMs: fc.constantFrom(0, hourMs, dayMs, 7 * dayMs),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), which: fc.nat(7) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(hourMs, 12 * hourMs, dayMs),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom('stop' as const, 'go' as const, 'start-again' as const, 'land' as const),
    }),
  },
)

test('an approved payment leaves at most once, and an expired or unapproved one never, at any crash point', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 18 }), async (steps) => {
      const home = aHomeThatPays()
      let process = approvedPayments(home)
      const rows = createApprovalTable(home.database)
      const clicked = new Set<string>()
      const all = () => rows.list({ open: false, limit: 100 }).toReversed()
      const picked = (which: number) => all()[which % Math.max(1, all().length)]
      for (const [at, one] of steps.entries()) {
        if (one.do === 'ask') {
          const as = { ...scout, agentId: one.agent }
          await process.send(one.amount, { as, key: `${at}` }).catch(() => {})
        } else if (one.do === 'confirm') {
          const row = picked(one.which)
          if (row === undefined) continue
          clicked.add(row.id)
          await Promise.allSettled(
            Array.from({ length: one.clicks }, () => process.approvals.confirm(owner, row)),
          )
        } else if (one.do === 'confirm-and-die') {
          const row = picked(one.which)
          if (row === undefined) continue
          clicked.add(row.id)
          await confirmAndDie(home, one.at, row.id)
          await home.clock.leap(one.downMs)
          process = approvedPayments(home)
          await process.approvals.resume()
        } else if (one.do === 'cancel') {
          const row = picked(one.which)
          if (row !== undefined && row.state === 'pending') process.approvals.cancel(owner, row.id)
        } else if (one.do === 'wait') await home.clock.leap(one.ms)
        else if (one.do === 'stop') process.table.stop('stopped', 0)
        else if (one.do === 'go') process.table.resume()
        else if (one.do === 'start-again') {
          process = approvedPayments(home)
          await process.approvals.resume()
        } else {
          home.chain.mine(3)
          await process.poll()
        }
      }
      process.approvals.sweep()
      const approvals = all().filter(({ kind }) => kind === paymentApprovalKind)
      const signed = process.table.list({ agentId: undefined, limit: 1000 })
      for (const row of approvals) {
        const own = signed.filter(({ key }) => key === row.args['key'])
        expect(own.length).toBeLessThanOrEqual(1)
        expect(own.length === 1, `${row.id} is ${row.state}`).toBe(row.state === 'done')
        for (const { signedAt } of own) {
          expect(clicked.has(row.id)).toBe(true)
          expect(signedAt).toBeLessThan(row.expiresAt)
        }
      }
      const keys = new Set(approvals.map(({ args }) => args['key']))
      for (const { key } of signed) expect(keys.has(key)).toBe(true)
      // One caller never has two pending approvals of equal payments.
      const waiting = approvals.filter(({ state }) => state === 'pending')
      const effects = waiting.map(({ requester, args }) => `${requester} ${JSON.stringify(args['does'])}`)
      expect(new Set(effects).size).toBe(effects.length)
      // Only signed transactions reached the chain.
      const ids = new Set(signed.map(({ txId }) => txId))
      expect(home.chain.received.filter((id) => !ids.has(id))).toEqual([])
    }),
    { numRuns: 150 },
  )
}, 60_000)
