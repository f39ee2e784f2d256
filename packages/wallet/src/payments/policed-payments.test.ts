import { describe, expect, test } from 'vitest'
import { aHomeThatPays, approvedPayments } from '../../../testing/src/approved-payments-harness.ts'
import { owner } from '../../../testing/src/payments-harness.ts'
import { policyOf } from '../../../testing/src/policy-of.ts'

const rule = (match: string, verdict: string) =>
  policyOf(`rules:\n  - { name: large, match: ${match}, verdict: ${verdict}, reason: Large payments. }`)

describe('a payment under a policy', () => {
  test('above the value of a rule is denied, and nothing is signed', async () => {
    const { send, states } = approvedPayments(aHomeThatPays(), {
      checkEffect: rule('{ chain: base, usd_above: 1 }', 'deny'),
    })
    await expect(send('1.5')).rejects.toMatchObject({ code: 'policy-denied' })
    expect(states()).toEqual([])
  })

  test('that a rule asks for waits for a person, who sees the rule', async () => {
    const { send, approvals, states } = approvedPayments(aHomeThatPays(), {
      checkEffect: rule('{ usd_above: 0.1 }', 'ask'),
    })
    expect(await send('0.5')).toMatchObject({
      state: 'waiting',
      because: expect.arrayContaining(['the rule large of config/policy.yaml asks: Large payments']),
    })
    expect(states()).toEqual([])
    const shown = approvals.read(owner, 'appr_1')
    await approvals.confirm(owner, shown)
    expect(states()).toEqual(['sent'])
  })

  test('that the policy denies by the time of its approval is not signed', async () => {
    const home = aHomeThatPays()
    await approvedPayments(home, { checkEffect: rule('{ usd_above: 0.1 }', 'ask') }).send('0.5')
    const { approvals, states } = approvedPayments(home, { checkEffect: rule('{ usd_above: 0.1 }', 'deny') })
    const shown = approvals.read(owner, 'appr_1')
    expect(await approvals.confirm(owner, shown)).toMatchObject({ state: 'failed' })
    expect(states()).toEqual([])
  })

  test('that was allowed always is bound to its contract, receiver and value, and the wallet’s own reasons stay', async () => {
    const { send, approvals, pay } = approvedPayments(aHomeThatPays(), {
      checkEffect: rule('{ usd_above: 0.1 }', 'ask'),
    })
    await send('0.5')
    const effect = pay.kind.policyEffect?.(approvals.read(owner, 'appr_1').args)
    expect(effect).toMatchObject({
      rule: 'large',
      details: {
        tool: 'wallet_transfer',
        chain: 'base',
        payees: [expect.stringMatching(/^0x[0-9a-f]{40}$/)],
      },
    })
    expect(effect?.details.usd).toBeGreaterThan(0.4)
  })

  test('that only the wallet asks about has no rule that could allow it always', async () => {
    const { send, approvals, pay } = approvedPayments(aHomeThatPays(), {})
    expect(await send('2')).toMatchObject({ state: 'waiting' })
    expect(pay.kind.policyEffect?.(approvals.read(owner, 'appr_1').args)).toBe(null)
  })
})
