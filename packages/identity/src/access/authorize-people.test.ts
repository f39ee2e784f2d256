import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { describe, expect, test } from 'vitest'
import type { Action, Decision, WalletSpend } from './action.ts'
import { authorize } from './authorize.ts'
import type { Caller } from './caller.ts'

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

/** One action of each kind; a new action does not compile until it is added here. */
const actions: { readonly [Do in Action['do']]: Extract<Action, { readonly do: Do }> } = {
  'message-agent': { do: 'message-agent', to: 'other' },
  'publish-topic': { do: 'publish-topic', topic: 't' },
  'subscribe-topic': { do: 'subscribe-topic', topic: 't' },
  'read-blackboard': { do: 'read-blackboard', key: 'a/b' },
  'write-blackboard': { do: 'write-blackboard', key: 'a/b' },
  'call-api': { do: 'call-api', api: 'llm' },
  'use-credential': { do: 'use-credential', name: 'github' },
  'use-browser': { do: 'use-browser', browserAction: 'click' },
  'manage-cron': { do: 'manage-cron' },
  'spawn-agent': { do: 'spawn-agent' },
  'use-wallet': { do: 'use-wallet', chain: 'ethereum' },
  'spend-from-wallet': spend,
  'manage-fleet': { do: 'manage-fleet' },
  'manage-agent': { do: 'manage-agent', agentId: 'other' },
  'manage-projects': { do: 'manage-projects' },
  'edit-agent-config': { do: 'edit-agent-config', agentId: 'other' },
  'view-fleet': { do: 'view-fleet' },
  'route-tasks': { do: 'route-tasks' },
  'request-credential': { do: 'request-credential' },
  'manage-credentials': { do: 'manage-credentials' },
  'back-up': { do: 'back-up' },
  'pause-work': { do: 'pause-work' },
  'manage-people': { do: 'manage-people' },
  'call-route': { do: 'call-route', role: 'owner' },
  'manage-webhooks': { do: 'manage-webhooks' },
  'make-webhooks': { do: 'make-webhooks' },
  'list-agents': { do: 'list-agents' },
  'act-for-self': { do: 'act-for-self', agentId: 'scout' },
  'submit-run': { do: 'submit-run', to: 'other' },
  'steer-agent': { do: 'steer-agent', to: 'other', gave: true },
}

const everyone = [
  'message-agent',
  'publish-topic',
  'subscribe-topic',
  'read-blackboard',
  'write-blackboard',
  'manage-cron',
  'manage-fleet',
  'manage-agent',
  'manage-projects',
  'edit-agent-config',
  'view-fleet',
  'route-tasks',
  'list-agents',
  'submit-run',
  'steer-agent',
]
const owner = ['call-route', 'manage-credentials', 'manage-people', 'pause-work']

function decide(caller: Caller, action: Action, record?: Partial<PermissionRecord>): Decision {
  const parsed = record === undefined ? undefined : permissionRecordSchema.parse(record)
  return authorize({ broken: null, recordOf: () => parsed }, caller, action)
}

describe('who needs no record', () => {
  test.each<[string, Caller, readonly string[]]>([
    [
      'the owner at the dashboard',
      { kind: 'human', role: 'owner', channel: 'dashboard' },
      [...owner, 'manage-webhooks', 'make-webhooks'],
    ],
    [
      'the owner by its API',
      { kind: 'human', role: 'owner', channel: 'api' },
      [...owner, 'manage-webhooks', 'make-webhooks'],
    ],
    [
      'the owner at the command line',
      { kind: 'human', role: 'owner', channel: 'cli' },
      [...owner, 'manage-webhooks', 'make-webhooks'],
    ],
    ['a person in a chat', { kind: 'human', role: 'owner', channel: 'telegram' }, owner],
    ['a program of this machine', { kind: 'internal' }, ['back-up']],
    ['the mesh itself', { kind: 'system' }, []],
  ])('%s may do this and nothing else', (_who, caller, more) => {
    const allowed = Object.values(actions).filter((action) => decide(caller, action).allowed)
    expect(allowed.map((action) => action.do).toSorted()).toEqual([...everyone, ...more].toSorted())
  })

  test('a caller without a permission record is refused without naming a field, because no record could help, and with a reason', () => {
    for (const action of Object.values(actions)) {
      const decision = decide({ kind: 'system' }, action)
      if (decision.allowed) expect(decision.field).toBe(undefined)
      else expect(decision).toEqual({ allowed: false, field: null, reason: expect.stringMatching(/\w+ \w+/) })
    }
  })

  test('a caller without a permission record is refused an action that no rule covers', () => {
    const unknown = { do: 'launch-rockets' } as unknown as Action
    for (const caller of [{ kind: 'human', role: 'owner', channel: 'cli' }, { kind: 'system' }] as const) {
      expect(decide(caller, unknown)).toMatchObject({
        allowed: false,
        reason: expect.stringContaining('launch-rockets'),
      })
    }
  })
})

describe('an agent with every right that a record can give', () => {
  const scout: Caller = { kind: 'agent', agentId: 'scout', token: 'door', run: null }
  const everything: Partial<PermissionRecord> = {
    can_message: ['*'],
    can_publish: ['*'],
    can_subscribe: ['*'],
    blackboard_read: ['*'],
    blackboard_write: ['*'],
    allowed_apis: ['*'],
    allowed_credentials: ['*'],
    can_use_browser: true,
    can_manage_cron: true,
    can_spawn: true,
    can_use_wallet: true,
    wallet_allowed_chains: ['*'],
    wallet_allowed_contracts: ['*'],
    can_manage_fleet: true,
    can_manage_projects: true,
    can_edit_agent_config: true,
    can_view_fleet_metrics: true,
    can_route_tasks: true,
    can_request_user_credentials: true,
  }
  const never = [
    'manage-credentials',
    'manage-people',
    'call-route',
    'back-up',
    'manage-credentials',
    'pause-work',
    'manage-webhooks',
    'make-webhooks',
    'submit-run',
  ]

  test('an agent with every right that a record can give may do all but what belongs to people, and no field would open that', () => {
    for (const action of Object.values(actions)) {
      const decision = decide(scout, action, everything)
      expect(decision.allowed, action.do).toBe(!never.includes(action.do))
      if (!decision.allowed) expect(decision.field).toBe(null)
    }
  })

  test('an agent with every right that a record can give may nothing of all that without its record, but act for itself with an empty one', () => {
    for (const action of Object.values(actions)) {
      expect(decide(scout, action).allowed, action.do).toBe(false)
      expect(decide(scout, action, {}).allowed, action.do).toBe(
        action.do === 'list-agents' || action.do === 'act-for-self',
      )
    }
  })

  test('an agent with every right that a record can give is refused an action that no rule covers', () => {
    expect(decide(scout, { do: 'launch-rockets' } as unknown as Action, everything)).toMatchObject({
      allowed: false,
      field: null,
    })
  })

  test('a token of programs allows model calls and the proxy and nothing else, however broad its record is', () => {
    const program: Caller = { ...scout, token: 'program' }
    const may = (api: string) => decide(program, { do: 'call-api', api }, everything).allowed
    expect(['llm', 'http', 'wallet', '*', ''].map(may)).toEqual([true, true, false, false, false])
  })

  test('an agent with every right that a record can give gets the list and entry that allow it, so that an owner finds the line', () => {
    const record = { ...everything, can_message: ['a', 'other', '*'], blackboard_read: ['x', 'a/*'] }
    expect(decide(scout, actions['message-agent'], record)).toEqual({
      allowed: true,
      field: 'can_message',
      entry: 1,
    })
    expect(decide(scout, actions['read-blackboard'], record)).toMatchObject({ entry: 1 })
    expect(decide(scout, actions['manage-cron'], record)).toEqual({ allowed: true, field: 'can_manage_cron' })
    expect(decide(scout, actions['use-wallet'], record)).toEqual({ allowed: true, field: 'can_use_wallet' })
    expect(decide(scout, spend, record)).toEqual({ allowed: true, field: 'can_use_wallet' })
  })

  test('an agent with every right that a record can give gets the action and the missing field with a refusal', () => {
    const refusal = (action: Action, record: Partial<PermissionRecord> = {}) => decide(scout, action, record)
    expect(refusal(actions['message-agent'])).toMatchObject({
      field: 'can_message',
      reason: expect.stringContaining('other'),
    })
    expect(refusal(actions['use-credential'])).toMatchObject({ reason: expect.stringContaining('github') })
    expect(refusal(actions['write-blackboard'])).toMatchObject({ reason: expect.stringContaining('a/b') })
    expect(refusal(actions['manage-cron'])).toMatchObject({
      reason: expect.stringContaining('can_manage_cron'),
    })
    expect(refusal(actions['use-browser'], { can_use_browser: true, browser_actions: [] })).toEqual({
      allowed: false,
      field: 'browser_actions',
      reason: expect.stringContaining('click'),
    })
    expect(
      decide(scout, actions['use-browser'], { can_use_browser: true, browser_actions: ['click'] }),
    ).toEqual({
      allowed: true,
      field: 'browser_actions',
    })
    const contract = `0x${'a'.repeat(40)}`
    expect(refusal({ ...spend, contract }, { ...everything, wallet_allowed_contracts: [] })).toEqual({
      allowed: false,
      field: 'wallet_allowed_contracts',
      reason: expect.stringContaining(contract),
    })
    expect(refusal({ ...spend, valueUsd: -1 }, everything)).toMatchObject({ field: null })
  })
})
