import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import { operatorDefaultRecord, workerDefaultRecord } from './default-records.ts'
import { operatorMayChange } from './operator-ceiling.ts'

describe("the operator's ceiling", () => {
  test("the operator's ceiling keeps spawn and wallet for a human", () => {
    verifies(
      'authentication:ceiling:spawn',
      'authentication:ceiling:wallet',
      'resources:permission:can-spawn-not-by-operator',
      'resources:permission:can-use-wallet-not-by-operator',
    )
    expect(operatorMayChange(workerDefaultRecord, { can_spawn: true })).toMatchObject({
      allowed: false,
      field: 'can_spawn',
    })
    expect(operatorMayChange(workerDefaultRecord, { can_use_wallet: true })).toMatchObject({ allowed: false })
    expect(operatorMayChange(workerDefaultRecord, { can_spawn: 'true' })).toMatchObject({ allowed: false })
    expect(operatorMayChange({ ...workerDefaultRecord, can_spawn: true }, { can_spawn: false })).toEqual({
      allowed: true,
    })
  })

  test("the operator's ceiling may raise the walls that an agent must have, and not lower them", () => {
    const walled = { ...workerDefaultRecord, required_isolation: 'gvisor' } as const
    expect(operatorMayChange(walled, { required_isolation: 'container' })).toMatchObject({
      allowed: false,
      field: 'required_isolation',
    })
    expect(operatorMayChange(walled, { required_isolation: 'gvisor' })).toEqual({ allowed: true })
  })

  test("the operator's ceiling refuses a key that it does not know, also beside one that is fine", () => {
    const change = { can_message: ['a'], can_fly: true }
    expect(operatorMayChange(workerDefaultRecord, change)).toMatchObject({ allowed: false, field: 'can_fly' })
    expect(operatorMayChange(workerDefaultRecord, { constructor: 1 })).toMatchObject({ allowed: false })
  })

  test.each([
    ['an API more', { allowed_apis: ['llm', 'http', 'x'] }, false],
    ['an API less', { allowed_apis: ['llm'] }, true],
    ['a star', { allowed_apis: ['*'] }, false],
    ['a credential', { allowed_credentials: ['github'] }, false],
    ['a control flag', { can_manage_fleet: true }, false],
    ['no control flag', { can_manage_fleet: false }, true],
    ['a wallet limit where the fleet-wide one holds', { wallet_spend_limit_daily_usd: 5 }, false],
    ['a browser', { can_use_browser: true }, false],
    ['no browser', { can_use_browser: false }, true],
    ['fewer browser actions', { browser_actions: ['navigate'] }, true],
    ['every browser action, which it has', { browser_actions: null }, true],
    ['another pattern', { blackboard_write: ['**'] }, true],
    ['stronger walls', { required_isolation: 'gvisor' }, true],
    ['no such walls', { required_isolation: 'none' }, false],
  ])("the operator's ceiling on %s with %j is %s", (_what, change, allowed) => {
    expect(operatorMayChange(workerDefaultRecord, change).allowed).toBe(allowed)
  })

  test("the operator's ceiling lets a right to everything be narrowed, since an operator that stops a leak must not need a person", () => {
    const everything = { ...workerDefaultRecord, allowed_apis: ['*'], allowed_credentials: ['*'] }
    for (const change of [
      { allowed_apis: ['llm', 'x'] },
      { allowed_apis: [] },
      { allowed_credentials: ['github'] },
    ]) {
      expect(operatorMayChange(everything, change)).toEqual({ allowed: true })
    }
    // An asterisk among other entries also means everything.
    const among = { ...workerDefaultRecord, allowed_apis: ['llm', '*'] }
    expect(operatorMayChange(among, { allowed_apis: ['http'] })).toEqual({ allowed: true })
  })

  test.each([
    ['a text for a number', { wallet_spend_limit_daily_usd: '1' }],
    ['a number for a list', { allowed_apis: 1 }],
    ['nothing', { allowed_apis: null }],
    ['a number below none', { wallet_spend_limit_daily_usd: -1 }],
    ['a list for a number', { wallet_rate_limit_per_hour: [] }],
  ])(
    "the operator's ceiling takes %s for no lowering: what cannot be compared is refused",
    (_what, change) => {
      const current = {
        ...workerDefaultRecord,
        wallet_spend_limit_daily_usd: 5,
        wallet_rate_limit_per_hour: 5,
      }
      expect(operatorMayChange(current, change).allowed).toBe(false)
    },
  )

  test("the operator's ceiling lets the actions of a browser become fewer and not more", () => {
    const browsing = {
      ...workerDefaultRecord,
      can_use_browser: true,
      browser_actions: ['navigate', 'snapshot'],
    }
    const may = (change: object) => operatorMayChange(browsing, { ...change }).allowed
    expect([may({ browser_actions: ['navigate'] }), may({ browser_actions: [] })]).toEqual([true, true])
    for (const more of [null, ['*'], ['navigate', 'click'], 'navigate', undefined])
      expect(may({ browser_actions: more })).toBe(false)
  })

  test("the operator's ceiling lets a limit be lowered and not raised", () => {
    const current = { ...operatorDefaultRecord, wallet_spend_limit_per_tx_usd: 10 }
    expect(operatorMayChange(current, { wallet_spend_limit_per_tx_usd: 5 }).allowed).toBe(true)
    expect(operatorMayChange(current, { wallet_spend_limit_per_tx_usd: 11 }).allowed).toBe(false)
    expect(operatorMayChange(current, { wallet_spend_limit_per_tx_usd: 0 }).allowed).toBe(false)
  })
})
