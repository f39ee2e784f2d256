import { permissionActions } from '@flotilla/protocol/permission-actions'
import { permissionFields, permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { PermissionField, PermissionRecord } from '@flotilla/protocol/permission-record'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import type { Action, WalletSpend } from './action.ts'
import { authorize } from './authorize.ts'
import type { Caller } from './caller.ts'

const scout: Caller = { kind: 'agent', agentId: 'scout', token: 'door', run: null }

function decide(fields: Partial<PermissionRecord>, action: Action, caller: Caller = scout) {
  const record = permissionRecordSchema.parse(fields)
  return authorize({ broken: null, recordOf: () => record }, caller, action)
}

const spend: WalletSpend = {
  do: 'spend-from-wallet',
  chain: 'ethereum',
  contract: null,
  valueUsd: 5,
  spentTodayUsd: 0,
  spendsLastHour: 0,
  makers: [],
  fleet: { perTxUsd: 0, dailyUsd: 0, perHour: 0 },
}
const wallet = { can_use_wallet: true, wallet_allowed_chains: ['ethereum'] }
const usdc = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'

/**
 * For each field a record and an action that it allows, and the same record with the field changed so that it
 * denies.
 */
const table: readonly (readonly [
  PermissionField,
  {
    readonly action: Action
    readonly with: Partial<PermissionRecord>
    readonly against: Partial<PermissionRecord>
  },
])[] = [
  [
    'can_message',
    {
      action: { do: 'message-agent', to: 'b' },
      with: { can_message: ['b'] },
      against: { can_message: ['bb'] },
    },
  ],
  [
    'can_publish',
    {
      action: { do: 'publish-topic', topic: 't' },
      with: { can_publish: ['t'] },
      against: { can_publish: ['T'] },
    },
  ],
  [
    'can_subscribe',
    {
      action: { do: 'subscribe-topic', topic: 't' },
      with: { can_subscribe: ['*'] },
      against: { can_subscribe: [] },
    },
  ],
  [
    'blackboard_read',
    {
      action: { do: 'read-blackboard', key: 'a/b' },
      with: { blackboard_read: ['a/*'] },
      against: { blackboard_read: ['a'] },
    },
  ],
  [
    'blackboard_write',
    {
      action: { do: 'write-blackboard', key: 'a/b/c' },
      with: { blackboard_write: ['a/**'] },
      against: { blackboard_write: ['a/*'] },
    },
  ],
  [
    'allowed_apis',
    {
      action: { do: 'call-api', api: 'http' },
      with: { allowed_apis: ['http'] },
      against: { allowed_apis: ['llm'] },
    },
  ],
  [
    'allowed_credentials',
    {
      action: { do: 'use-credential', name: 'GitHub_Token' },
      with: { allowed_credentials: ['github_*'] },
      against: { allowed_credentials: ['gitlab_*'] },
    },
  ],
  [
    'can_use_browser',
    {
      action: { do: 'use-browser', browserAction: 'click' },
      with: { can_use_browser: true },
      against: { can_use_browser: false },
    },
  ],
  [
    'browser_actions',
    {
      action: { do: 'use-browser', browserAction: 'click' },
      with: { can_use_browser: true, browser_actions: ['click'] },
      against: { can_use_browser: true, browser_actions: [] },
    },
  ],
  ['can_manage_cron', { action: { do: 'manage-cron' }, with: { can_manage_cron: true }, against: {} }],
  ['can_spawn', { action: { do: 'spawn-agent' }, with: { can_spawn: true }, against: {} }],
  [
    'can_use_wallet',
    {
      action: { do: 'use-wallet', chain: 'ethereum' },
      with: wallet,
      against: { wallet_allowed_chains: ['*'] },
    },
  ],
  [
    'wallet_allowed_chains',
    {
      action: { do: 'use-wallet', chain: 'ethereum' },
      with: wallet,
      against: { ...wallet, wallet_allowed_chains: ['solana'] },
    },
  ],
  [
    'wallet_spend_limit_per_tx_usd',
    {
      action: spend,
      with: { ...wallet, wallet_spend_limit_per_tx_usd: 5 },
      against: { ...wallet, wallet_spend_limit_per_tx_usd: 4.99 },
    },
  ],
  [
    'wallet_spend_limit_daily_usd',
    {
      action: { ...spend, spentTodayUsd: 5 },
      with: { ...wallet, wallet_spend_limit_daily_usd: 10 },
      against: { ...wallet, wallet_spend_limit_daily_usd: 9.99 },
    },
  ],
  [
    'wallet_rate_limit_per_hour',
    {
      action: { ...spend, spendsLastHour: 2 },
      with: { ...wallet, wallet_rate_limit_per_hour: 3 },
      against: { ...wallet, wallet_rate_limit_per_hour: 2 },
    },
  ],
  [
    'wallet_allowed_contracts',
    {
      action: { ...spend, contract: usdc.toLowerCase() },
      with: { ...wallet, wallet_allowed_contracts: [usdc] },
      against: wallet,
    },
  ],
  [
    'can_manage_fleet',
    { action: { do: 'manage-agent', agentId: 'b' }, with: { can_manage_fleet: true }, against: {} },
  ],
  [
    'can_manage_projects',
    { action: { do: 'manage-projects' }, with: { can_manage_projects: true }, against: {} },
  ],
  [
    'can_edit_agent_config',
    { action: { do: 'edit-agent-config', agentId: 'b' }, with: { can_edit_agent_config: true }, against: {} },
  ],
  [
    'can_view_fleet_metrics',
    { action: { do: 'view-fleet' }, with: { can_view_fleet_metrics: true }, against: {} },
  ],
  ['can_route_tasks', { action: { do: 'route-tasks' }, with: { can_route_tasks: true }, against: {} }],
  [
    'can_request_user_credentials',
    { action: { do: 'request-credential' }, with: { can_request_user_credentials: true }, against: {} },
  ],
]

describe('each field of the permission record', () => {
  test('each field of the permission record is in the table below', () => {
    // This field allows nothing: it sets the agent's isolation level.
    const granting = Object.keys(permissionFields).filter((field) => field !== 'required_isolation')
    expect(table.map(([field]) => field)).toEqual(granting)
  })

  test.each(table)('%s allows what it grants and denies what it does not, by its own name', (field, row) => {
    heedsLesson(42)
    verifies(
      'resources:permission:can-publish',
      'resources:permission:can-subscribe',
      'resources:permission:can-manage-projects',
      'resources:permission:can-edit-agent-config',
      'resources:permission:can-route-tasks',
      'resources:permission:can-request-user-credentials',
      'resources:permission:data-types',
    )
    expect(decide(row.with, row.action).allowed).toBe(true)
    expect(decide(row.against, row.action)).toMatchObject({ allowed: false, field })
    // Program tokens only open the APIs and the credentials that the forward proxy inserts.
    expect(decide(row.with, row.action, { ...scout, token: 'program' }).allowed).toBe(
      field === 'allowed_apis' || field === 'allowed_credentials',
    )
    expect(decide({}, row.action).allowed).toBe(false)
  })

  test('each field of the permission record alone opens nothing but its own action', () => {
    const everything = permissionRecordSchema.parse(Object.assign({}, ...table.map(([, row]) => row.with)))
    const names = Object.keys(permissionFields) as PermissionField[]
    for (const [field, row] of table) {
      const others = Object.fromEntries(
        names.filter((name) => name !== field).map((name) => [name, everything[name]]),
      )
      // A limit of 0, and browser actions of null, set no limit: there the field denies and does not grant.
      const isLimit =
        field.startsWith('wallet_spend') || field.startsWith('wallet_rate') || field === 'browser_actions'
      expect(decide(others, row.action).allowed, field).toBe(isLimit)
    }
  })
})

describe('a record', () => {
  test('a record never lets an agent edit or manage itself', () => {
    heedsLesson(124)
    const all = { can_manage_fleet: true, can_edit_agent_config: true }
    expect(decide(all, { do: 'edit-agent-config', agentId: 'scout' })).toMatchObject({
      allowed: false,
      field: null,
    })
    expect(decide(all, { do: 'manage-agent', agentId: 'scout' })).toMatchObject({
      allowed: false,
      field: null,
    })
  })

  test('a record allows no transfer of unknown value', () => {
    for (const valueUsd of [Number.NaN, Number.POSITIVE_INFINITY, -1]) {
      expect(decide(wallet, { ...spend, valueUsd }).allowed).toBe(false)
    }
    expect(decide(wallet, { ...spend, spentTodayUsd: Number.NaN }).allowed).toBe(false)
  })

  test('a record holds every limit at once to the millionth of a dollar, whatever is spent', () => {
    const millionths = fc.nat(100_000_000)
    fc.assert(
      fc.property(
        fc.record({ value: millionths, today: millionths, spendsLastHour: fc.nat(10) }),
        fc.record({ perTransfer: millionths, daily: millionths, hourly: fc.nat(10) }),
        ({ value, today, spendsLastHour }, limit) => {
          const record = {
            ...wallet,
            wallet_spend_limit_per_tx_usd: limit.perTransfer / 1_000_000,
            wallet_spend_limit_daily_usd: limit.daily / 1_000_000,
            wallet_rate_limit_per_hour: limit.hourly,
          }
          const fits =
            (limit.perTransfer === 0 || value <= limit.perTransfer) &&
            (limit.daily === 0 || today + value <= limit.daily) &&
            (limit.hourly === 0 || spendsLastHour < limit.hourly)
          const spent = { valueUsd: value / 1_000_000, spentTodayUsd: today / 1_000_000, spendsLastHour }
          expect(decide(record, { ...spend, ...spent }).allowed).toBe(fits)
        },
      ),
    )
  })

  test('a record keeps the case of addresses that are not hexadecimal', () => {
    const token = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
    const record = { ...wallet, wallet_allowed_contracts: [token] }
    expect(decide(record, { ...spend, contract: token }).allowed).toBe(true)
    expect(decide(record, { ...spend, contract: token.toLowerCase() }).allowed).toBe(false)
  })

  test('a record reads browser actions of null and of a star as all, and of nothing as none', () => {
    const click: Action = { do: 'use-browser', browserAction: 'click' }
    expect(decide({ can_use_browser: true, browser_actions: null }, click).allowed).toBe(true)
    expect(decide({ can_use_browser: true, browser_actions: ['*'] }, click).allowed).toBe(true)
    expect(decide({ can_use_browser: true, browser_actions: [] }, click).allowed).toBe(false)
    expect(decide({ browser_actions: ['*'] }, click).allowed).toBe(false)
  })
})

test('every action that the mesh decides has a description for people', () => {
  const decided = new Set<string>(table.map(([, row]) => row.action.do))
  const known = new Set<string>(permissionActions.map((action) => action.name))
  expect([...decided].filter((name) => !known.has(name))).toEqual([])
})
