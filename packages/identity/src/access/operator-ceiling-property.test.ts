import { isolationRungs } from '@flotilla/protocol/isolation'
import { permissionFields, permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { PermissionField, PermissionRecord } from '@flotilla/protocol/permission-record'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import { operatorMayChange } from './operator-ceiling.ts'
import { readFields } from './permission-change.ts'

const fields = Object.keys(permissionFields) as PermissionField[]
const entry = fc.constantFrom('*', 'a', 'b', 'llm', 'http')
const list = fc.uniqueArray(entry, { maxLength: 4 })
const browserAction = fc.constantFrom('*', 'navigate', 'click', 'reset')
const amount = fc.constantFrom(0, 1, 5, 10)

/** Any value that the field can hold. */
function valueFor(field: PermissionField): fc.Arbitrary<unknown> {
  const empty = permissionRecordSchema.parse({})[field]
  if (field === 'required_isolation') return fc.constantFrom(...isolationRungs)
  if (field === 'browser_actions') return fc.option(fc.uniqueArray(browserAction, { maxLength: 4 }))
  if (Array.isArray(empty)) return list
  return typeof empty === 'boolean' ? fc.boolean() : amount
}

const anyRecord: fc.Arbitrary<PermissionRecord> = fc
  .record(Object.fromEntries(fields.map((field) => [field, valueFor(field)])))
  .map((record) => permissionRecordSchema.parse(record))
/** Any change, including invalid values and unknown names. */
const anyName = fc.oneof(
  fc.constantFrom(...fields),
  fc.constantFrom(
    'CAN_SPAWN',
    'can_spawn ',
    ' can_spawn',
    'can-spawn',
    'сan_spawn',
    'can_spawn\u200b',
    'canSpawn',
  ),
  fc.constantFrom('__proto__', 'constructor', 'toString', '', 'permissions', 'permissions.can_spawn'),
)
const anyValue = fc.oneof(
  ...fields.map(valueFor),
  fc.constantFrom<unknown>(
    'true',
    'yes',
    1,
    0,
    null,
    [true],
    { value: true },
    '*',
    [['*']],
    ['a', '*'],
    -1,
    1e9,
  ),
)
const anyChange = fc.dictionary(anyName, anyValue, { maxKeys: 4 })

/** The fields in which `after` allows more than `before`, among those that the operator may only lower. */
function raised(before: PermissionRecord, after: PermissionRecord): PermissionField[] {
  const more = (name: PermissionField, one: unknown, other: unknown): boolean => {
    if (typeof one === 'boolean') return !one && other === true
    if (typeof one === 'number' && typeof other === 'number') {
      const limit = (value: number): number => (value === 0 ? Number.POSITIVE_INFINITY : value)
      // Setting a limit where the fleet-wide one applied could raise it, so only a person may do it.
      return limit(other) > limit(one) || (one === 0 && other !== 0)
    }
    if (name === 'browser_actions') return more('allowed_apis', one ?? ['*'], other ?? ['*'])
    if (Array.isArray(one) && Array.isArray(other)) {
      return !one.includes('*') && other.some((wanted) => !one.includes(wanted))
    }
    throw new Error(`${name} is of no known kind`)
  }
  const lowerOnly = fields.filter(
    (name) =>
      name.startsWith('wallet_') ||
      name === 'can_spawn' ||
      name === 'can_use_wallet' ||
      name === 'allowed_apis' ||
      name === 'allowed_credentials' ||
      name === 'can_use_browser' ||
      name === 'browser_actions' ||
      [
        'can_manage_fleet',
        'can_manage_projects',
        'can_edit_agent_config',
        'can_view_fleet_metrics',
        'can_route_tasks',
        'can_request_user_credentials',
      ].includes(name),
  )
  return lowerOnly.filter((name) => more(name, before[name], after[name]))
}

describe("the operator's ceiling over every field and value", () => {
  test("the operator's ceiling over every field and value lets nothing rise that only a person may raise", () => {
    heedsLesson(6, 7)
    verifies(
      'authentication:ceiling:spawn',
      'authentication:ceiling:wallet',
      'resources:operator:ceiling-spawn',
      'resources:operator:ceiling-wallet',
    )
    fc.assert(
      fc.property(anyRecord, anyChange, (current, change) => {
        if (!operatorMayChange(current, change).allowed) return
        let read: Partial<PermissionRecord>
        try {
          read = readFields(change)
        } catch {
          return
        }
        expect(raised(current, { ...current, ...read })).toEqual([])
        expect(Object.keys(change).every((name) => Object.hasOwn(permissionFields, name))).toBe(true)
      }),
      { numRuns: 3000 },
    )
  })

  test("the operator's ceiling over every field and value lets rights be taken away, whatever they are", () => {
    heedsLesson(7)
    fc.assert(
      fc.property(anyRecord, fc.constantFrom(...fields), (current, field) => {
        const before = current[field]
        const lowered = Array.isArray(before) ? [] : typeof before === 'boolean' ? false : before
        expect(operatorMayChange(current, { [field]: lowered }).allowed).toBe(true)
      }),
    )
  })

  test("the operator's ceiling over every field and value refuses every name that is no field", () => {
    heedsLesson(6)
    const current = permissionRecordSchema.parse({})
    fc.assert(
      fc.property(
        fc.string().filter((name) => !Object.hasOwn(permissionFields, name)),
        anyValue,
        (name, value) => {
          expect(operatorMayChange(current, Object.fromEntries([[name, value]])).allowed).toBe(false)
        },
      ),
    )
  })
})
