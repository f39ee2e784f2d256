import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { verifies } from '../../../../tests/verifies.ts'
import type { Action } from './action.ts'
import { authorize } from './authorize.ts'
import type { PermissionRecords } from './authorize.ts'
import type { Caller } from './caller.ts'
import { operatorDefaultRecord, workerDefaultRecord } from './default-records.ts'

function aRecord(fields: Partial<PermissionRecord> = {}): PermissionRecord {
  return permissionRecordSchema.parse(fields)
}

function recordsOf(
  records: Readonly<Record<string, PermissionRecord>>,
  broken: string | null = null,
): PermissionRecords {
  return {
    broken,
    recordOf: (agentId) => (broken === null ? new Map(Object.entries(records)).get(agentId) : undefined),
  }
}

const scout: Caller = { kind: 'agent', agentId: 'scout', token: 'door', run: null }
const program: Caller = { ...scout, token: 'program' }

const actions: readonly Action[] = [
  { do: 'message-agent', to: 'other' },
  { do: 'read-blackboard', key: 'a/b' },
  { do: 'write-blackboard', key: 'a/b' },
  { do: 'call-api', api: 'llm' },
  { do: 'call-api', api: 'http' },
  { do: 'list-agents' },
  { do: 'act-for-self', agentId: 'scout' },
  { do: 'submit-run', to: 'scout' },
  { do: 'steer-agent', to: 'other', gave: false },
  { do: 'view-fleet' },
  { do: 'manage-fleet' },
]

function allowedOf(records: PermissionRecords, caller: Caller): string[] {
  const allowed = actions.filter((action) => authorize(records, caller, action).allowed)
  return allowed.map((action) => (action.do === 'call-api' ? `call-${action.api}` : action.do))
}

describe('an agent', () => {
  test('an agent without a record may do nothing', () => {
    verifies('authentication:permissions:default-deny', 'purpose:default-deny', 'errors:permissions:absent')
    expect(allowedOf(recordsOf({}), scout)).toEqual([])
    expect(allowedOf(recordsOf({ other: operatorDefaultRecord }), scout)).toEqual([])
  })

  test('an agent with an empty record may act for itself and nothing else', () => {
    verifies('authentication:permissions:default-deny')
    expect(allowedOf(recordsOf({ scout: aRecord() }), scout)).toEqual(['list-agents', 'act-for-self'])
  })

  test('an agent may do nothing while the file is invalid, whatever it contained', () => {
    verifies('purpose:fail-closed')
    const broken = recordsOf(
      { scout: operatorDefaultRecord },
      'config/permissions.json line 3: value expected',
    )
    expect(allowedOf(broken, scout)).toEqual([])
    expect(authorize(broken, scout, { do: 'list-agents' })).toMatchObject({
      reason:
        'all agents are denied everything, because the permission file is invalid: config/permissions.json line 3: value expected',
    })
  })

  test.each<[string, Partial<PermissionRecord>, Action]>([
    ['can_message', { can_message: ['other'] }, { do: 'message-agent', to: 'other' }],
    ['blackboard_read', { blackboard_read: ['a/*'] }, { do: 'read-blackboard', key: 'a/b' }],
    ['blackboard_write', { blackboard_write: ['a/*'] }, { do: 'write-blackboard', key: 'a/b' }],
    ['allowed_apis', { allowed_apis: ['llm'] }, { do: 'call-api', api: 'llm' }],
    ['can_view_fleet_metrics', { can_view_fleet_metrics: true }, { do: 'view-fleet' }],
    ['can_manage_fleet', { can_manage_fleet: true }, { do: 'manage-fleet' }],
  ])('is allowed by %s and denied without it, with that field as the reason', (field, fields, action) => {
    verifies(
      'resources:permission:can-message',
      'resources:permission:blackboard-read',
      'resources:permission:blackboard-write',
      'resources:permission:allowed-apis',
      'resources:permission:can-manage-fleet',
      'resources:permission:can-view-fleet-metrics',
    )
    expect(authorize(recordsOf({ scout: aRecord(fields) }), scout, action)).toMatchObject({
      allowed: true,
      field,
    })
    expect(authorize(recordsOf({ scout: aRecord() }), scout, action)).toMatchObject({ allowed: false, field })
  })

  test('an agent may read keys that it may not write', () => {
    const records = recordsOf({ scout: workerDefaultRecord })
    expect(authorize(records, scout, { do: 'read-blackboard', key: 'secret/plan' }).allowed).toBe(true)
    expect(authorize(records, scout, { do: 'write-blackboard', key: 'secret/plan' }).allowed).toBe(false)
    expect(authorize(records, scout, { do: 'write-blackboard', key: 'output/plan/1' }).allowed).toBe(true)
  })

  test('messages the operator only when its record says so', () => {
    const toOperator: Action = { do: 'message-agent', to: 'operator' }
    expect(authorize(recordsOf({ scout: workerDefaultRecord }), scout, toOperator).allowed).toBe(true)
    expect(
      authorize(recordsOf({ scout: aRecord({ can_message: ['other'] }) }), scout, toOperator).allowed,
    ).toBe(false)
  })

  test('an agent cannot act for another, nor put work into a lane itself', () => {
    const records = recordsOf({ scout: operatorDefaultRecord })
    expect(authorize(records, scout, { do: 'act-for-self', agentId: 'other' }).allowed).toBe(false)
    expect(authorize(records, scout, { do: 'submit-run', to: 'scout' }).allowed).toBe(false)
  })

  test('an agent with a program token may use only the model gateway and the egress proxy', () => {
    expect(allowedOf(recordsOf({ scout: operatorDefaultRecord }), program)).toEqual(['call-llm', 'call-http'])
    expect(allowedOf(recordsOf({ scout: aRecord() }), program)).toEqual([])
  })

  test('an agent named like a part of every object has no record', () => {
    for (const agentId of ['constructor', 'toString', 'hasOwnProperty']) {
      expect(allowedOf(recordsOf({}), { ...scout, agentId })).toEqual([])
    }
  })

  test('an agent gains nothing from a field that its record does not grant', () => {
    const anyAction = fc.constantFrom(...actions)
    const fields = fc.record(
      {
        can_message: fc.array(fc.string({ minLength: 1, maxLength: 9 })),
        allowed_apis: fc.array(fc.constantFrom('http', 'x')),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fields, anyAction, (granted, action) => {
        const decision = authorize(recordsOf({ scout: aRecord(granted) }), scout, action)
        const isGranted: boolean | undefined =
          (action.do === 'message-agent' &&
            granted.can_message?.some((name) => name === '*' || name === action.to)) ||
          (action.do === 'call-api' && granted.allowed_apis?.some((api) => api === action.api)) ||
          action.do === 'list-agents' ||
          action.do === 'act-for-self'
        expect(decision.allowed).toBe(isGranted ?? false)
      }),
    )
  })
})

describe('people and the mesh', () => {
  test.each<Caller>([
    { kind: 'human', role: 'owner', channel: 'cli' },
    { kind: 'internal' },
    { kind: 'system' },
  ])(
    'as $kind do what people do, also while the file is broken, and nothing that is an agent’s own',
    (caller) => {
      const people = [
        'message-agent',
        'read-blackboard',
        'write-blackboard',
        'list-agents',
        'submit-run',
        'steer-agent',
        'view-fleet',
        'manage-fleet',
      ]
      expect(allowedOf(recordsOf({}, 'missing'), caller)).toEqual(people)
    },
  )
})

describe('default records', () => {
  test('the default records give the operator the six flags and neither spawn nor wallet', () => {
    expect(operatorDefaultRecord).toMatchObject({
      can_manage_fleet: true,
      can_manage_projects: true,
      can_edit_agent_config: true,
      can_view_fleet_metrics: true,
      can_route_tasks: true,
      can_request_user_credentials: true,
      can_spawn: false,
      can_use_wallet: false,
      allowed_credentials: [],
    })
  })

  test('the default records give a worker no flag', () => {
    expect(Object.entries(workerDefaultRecord).filter(([, value]) => value === true)).toEqual([])
  })
})

describe('steering an agent', () => {
  const operator: Caller = { kind: 'agent', agentId: 'operator', token: 'door', run: null }
  const may = (caller: Caller, record: PermissionRecord, action: { to: string; gave: boolean }) => {
    const records = recordsOf({ scout: record, operator: record })
    return authorize(records, caller, { do: 'steer-agent', ...action })
  }
  const friendly = aRecord({ can_message: ['*'] })

  test.each([
    ['people', { kind: 'human', role: 'owner', channel: 'cli' } as const, aRecord(), false, true],
    ['the operator', operator, friendly, false, true],
    ['the operator that may not message it', operator, aRecord(), false, false],
    ['who gave the work', scout, friendly, true, true],
    ['who gave the work and may no longer message it', scout, aRecord(), true, false],
    ['any other agent', scout, friendly, false, false],
    ['a program of the operator', { ...operator, token: 'program' } as const, friendly, true, false],
  ])('%s', (...[, caller, record, gave, allowed]) => {
    expect(may(caller, record, { to: 'other', gave }).allowed).toBe(allowed)
  })

  test('steering an agent is never steering oneself', () => {
    expect(may(operator, friendly, { to: 'operator', gave: true })).toMatchObject({ allowed: false })
  })
})
