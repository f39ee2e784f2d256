import fc from 'fast-check'
import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import type { Action } from './action.ts'
import { authorize } from './authorize.ts'
import { boundedRecord, withinParent } from './within-parent.ts'

const name = fc.constantFrom('*', 'a', 'b', 'A', 'llm', 'http', 'tasks/**', 'tasks/x', 'git*', 'github_token')
const names = fc.uniqueArray(name, { maxLength: 6 })
const browserAction = fc.constantFrom('*', 'navigate', 'click', 'reset')
const flag = fc.boolean()
const limit = fc.constantFrom(0, 1, 5, 100)

const aRecord: fc.Arbitrary<PermissionRecord> = fc.record({
  can_message: names,
  can_publish: names,
  can_subscribe: names,
  blackboard_read: names,
  blackboard_write: names,
  allowed_apis: names,
  allowed_credentials: names,
  can_use_browser: flag,
  browser_actions: fc.option(fc.uniqueArray(browserAction, { maxLength: 4 })),
  can_manage_cron: flag,
  can_spawn: flag,
  can_use_wallet: flag,
  wallet_allowed_chains: names,
  wallet_spend_limit_per_tx_usd: limit,
  wallet_spend_limit_daily_usd: limit,
  wallet_rate_limit_per_hour: limit,
  wallet_allowed_contracts: names,
  can_manage_fleet: flag,
  can_manage_projects: flag,
  can_edit_agent_config: flag,
  can_view_fleet_metrics: flag,
  can_route_tasks: flag,
  can_request_user_credentials: flag,
  required_isolation: fc.constantFrom('container', 'gvisor'),
})

const fleetKeys = {
  wallet_spend_limit_per_tx_usd: 'perTxUsd',
  wallet_spend_limit_daily_usd: 'dailyUsd',
  wallet_rate_limit_per_hour: 'perHour',
} as const

const text = fc.constantFrom(
  'a',
  'b',
  'llm',
  'http',
  'tasks/x',
  'tasks/x/y',
  'github_token',
  'gitea',
  'click',
)

const anAction: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ do: fc.constant('message-agent' as const), to: text }),
  fc.record({ do: fc.constant('publish-topic' as const), topic: text }),
  fc.record({ do: fc.constant('subscribe-topic' as const), topic: text }),
  fc.record({ do: fc.constantFrom('read-blackboard' as const, 'write-blackboard' as const), key: text }),
  fc.record({ do: fc.constant('call-api' as const), api: text }),
  fc.record({ do: fc.constant('use-credential' as const), name: text }),
  fc.record({ do: fc.constant('use-browser' as const), browserAction: text }),
  fc.record({ do: fc.constant('use-wallet' as const), chain: text }),
  fc.record({
    do: fc.constant('spend-from-wallet' as const),
    chain: text,
    contract: fc.option(text),
    valueUsd: fc.constantFrom(1, 4, 50),
    spentTodayUsd: fc.constantFrom(0, 3, 60),
    spendsLastHour: fc.constantFrom(0, 3, 60),
    makers: fc.constant([]),
    fleet: fc.record({ perTxUsd: limit, dailyUsd: limit, perHour: limit }),
  }),
  fc.record({
    do: fc.constantFrom(
      'manage-cron' as const,
      'spawn-agent' as const,
      'manage-fleet' as const,
      'manage-projects' as const,
      'view-fleet' as const,
      'route-tasks' as const,
      'request-credential' as const,
    ),
  }),
)

const decide = (
  records: Record<string, PermissionRecord>,
  makers: Record<string, string>,
  agentId: string,
) => {
  const recordOf = (id: string) =>
    boundedRecord(
      id,
      (one) => records[one],
      (one) => makers[one] ?? null,
    )
  return (action: Action) =>
    authorize({ recordOf, broken: null }, { kind: 'agent', agentId, token: 'door', run: null }, action)
      .allowed
}

describe('an agent that an agent made', () => {
  test('a spawned agent may do nothing that its own, its parent’s or its grandparent’s record refuses', () => {
    verifies('resources:permission:can-spawn')
    fc.assert(
      fc.property(
        fc.record({ own: aRecord, parent: aRecord, above: aRecord }),
        anAction,
        (records, action) => {
          const allowed = decide(records, { own: 'parent', parent: 'above' }, 'own')(action)
          if (!allowed) return
          for (const id of ['own', 'parent', 'above']) expect(decide(records, {}, id)(action)).toBe(true)
        },
      ),
      { numRuns: 3000 },
    )
  })

  test.each([
    ['wallet_spend_limit_per_tx_usd', { valueUsd: 20, spentTodayUsd: 0, spendsLastHour: 0 }],
    ['wallet_spend_limit_daily_usd', { valueUsd: 1, spentTodayUsd: 19, spendsLastHour: 0 }],
    ['wallet_rate_limit_per_hour', { valueUsd: 1, spentTodayUsd: 0, spendsLastHour: 19 }],
  ] as const)(
    'a spawned agent is held to the fleet where its maker leaves %s at 0, and to its own below that',
    (field, spent) => {
      const may = (limits: { own: number; parent: number; fleet: number }) => {
        const wallet = { can_use_wallet: true, wallet_allowed_chains: ['*'] }
        const record = (value: number) => permissionRecordSchema.parse({ ...wallet, [field]: value })
        const records = { own: record(limits.own), parent: record(limits.parent) }
        const { fleet: all } = limits
        return decide(
          records,
          { own: 'parent' },
          'own',
        )({
          do: 'spend-from-wallet',
          chain: 'base',
          contract: null,
          makers: [],
          fleet: { perTxUsd: 0, dailyUsd: 0, perHour: 0, [fleetKeys[field]]: all },
          ...spent,
        })
      }
      expect(may({ own: 50, parent: 0, fleet: 10 })).toBe(false)
      expect(may({ own: 50, parent: 0, fleet: 30 })).toBe(true)
      expect(may({ own: 15, parent: 0, fleet: 30 })).toBe(false)
      expect(may({ own: 50, parent: 0, fleet: 0 })).toBe(true)
      expect(may({ own: 50, parent: 40, fleet: 10 })).toBe(true)
      expect(may({ own: 15, parent: 0, fleet: 0 })).toBe(false)
      expect(may({ own: 0, parent: 15, fleet: 30 })).toBe(false)
      // The agent has no limit of its own, so the fleet's applies, and the limit of its parent is higher.
      expect(may({ own: 0, parent: 50, fleet: 10 })).toBe(false)
      expect(may({ own: 0, parent: 50, fleet: 30 })).toBe(true)
      expect(may({ own: 0, parent: 0, fleet: 10 })).toBe(false)
      // The parent's limit was lowered later and applies from then on.
      expect(may({ own: 50, parent: 15, fleet: 30 })).toBe(false)
    },
  )

  test('a spawned agent is a record like any other, and within itself it is itself', () => {
    fc.assert(
      fc.property(aRecord, aRecord, (own, parent) => {
        const both = withinParent(own, parent)
        expect(permissionRecordSchema.parse(both)).toEqual(both)
        expect(withinParent(own, own)).toEqual(own)
        expect(withinParent(both, parent)).toEqual(both)
      }),
    )
  })

  test('a spawned agent may nothing once its parent has no record, and a circle of parents ends', () => {
    const record = permissionRecordSchema.parse({ allowed_apis: ['llm'] })
    const of = (makers: Record<string, string>) =>
      boundedRecord(
        'own',
        (id) => (id === 'gone' ? undefined : record),
        (id) => makers[id] ?? null,
      )
    expect(of({ own: 'parent' })).toEqual(record)
    expect(of({ own: 'gone' })).toBeUndefined()
    expect(of({ own: 'other', other: 'own' })).toBeUndefined()
  })

  test('a spawned agent has a right only if its own and its parent’s record give it', () => {
    fc.assert(
      fc.property(aRecord, aRecord, (own, parent) => {
        const both = withinParent(own, parent)
        for (const [field, value] of Object.entries(both)) {
          if (typeof value !== 'boolean') continue
          const [ofOwn, ofParent] = [own, parent].map((record) => record[field as keyof PermissionRecord])
          expect(value, field).toBe(ofOwn === true && ofParent === true)
        }
      }),
    )
  })

  test.each([
    [null, null, null],
    [null, ['click'], ['click']],
    [['click'], null, ['click']],
    [['click', 'reset'], ['reset', 'navigate'], ['reset']],
    [['click'], [], []],
  ])('of browser actions %j and of its parent %j a spawned agent has %j', (own, parent, both) => {
    const record = (actions: string[] | null) => permissionRecordSchema.parse({ browser_actions: actions })
    expect(withinParent(record(own), record(parent)).browser_actions).toEqual(both)
  })

  test.each([
    [['llm', 'http'], ['*'], ['llm', 'http']],
    [['*'], ['llm', 'http'], ['llm', 'http']],
    [['*'], ['*'], ['*']],
    [['llm', 'git*'], ['git*', 'gitea'], ['git*']],
  ])('of the APIs %j and of its parent %j a spawned agent has %j', (own, parent, both) => {
    const record = (apis: string[]) => permissionRecordSchema.parse({ allowed_apis: apis })
    expect(withinParent(record(own), record(parent)).allowed_apis).toEqual(both)
  })

  test('an agent without a record has none, with and without a parent', () => {
    const record = permissionRecordSchema.parse({})
    const recordOf = (id: string) => (id === 'parent' ? record : undefined)
    expect(boundedRecord('own', recordOf, () => null)).toBeUndefined()
    expect(boundedRecord('own', recordOf, (id) => (id === 'own' ? 'parent' : null))).toBeUndefined()
  })

  test.each([
    [16, true],
    [17, false],
  ])('an agent below %i others has a record: %s', (depth, has) => {
    const record = permissionRecordSchema.parse({})
    const parentOf = (id: string) => (Number(id) < depth ? String(Number(id) + 1) : null)
    expect(boundedRecord('0', () => record, parentOf) !== undefined).toBe(has)
  })
})
