import { permissionRecordSchema } from '@flotilla/protocol/permission-record'
import { describe, expect, test } from 'vitest'
import { operatorDefaultRecord, workerDefaultRecord } from './default-records.ts'
import { permissionOrigins } from './permission-origins.ts'

const created = {
  action: 'permission.granted',
  actor: 'system',
  at: 100,
  detail: { can_message: ['operator'], allowed_apis: ['llm', 'http', 'web_search'] },
}

describe('where a permission comes from', () => {
  test('a new worker’s fields are defaults, and missing fields have no setter', () => {
    const told = permissionOrigins(workerDefaultRecord, { kind: 'worker', rows: [created], lineOf: () => 7 })
    expect(told.find(({ field }) => field === 'can_message')).toEqual({
      field: 'can_message',
      value: ['operator'],
      from: 'default',
      by: 'system',
      at: 100,
      line: 7,
    })
    expect(told.find(({ field }) => field === 'can_spawn')).toMatchObject({
      from: 'none',
      by: null,
      at: null,
    })
    expect(told).toHaveLength(Object.keys(workerDefaultRecord).length)
  })

  test('the last actor to change or remove a field is its origin', () => {
    const record = permissionRecordSchema.parse({ ...workerDefaultRecord, can_message: ['*'] })
    const rows = [
      created,
      {
        action: 'permission.changed',
        actor: 'human:cli',
        at: 200,
        detail: { can_message: {}, can_spawn: {} },
      },
      { action: 'permission.changed', actor: 'human:ada@dashboard', at: 300, detail: { can_message: {} } },
    ]
    const told = permissionOrigins(record, { kind: 'worker', rows, lineOf: () => 1 })
    expect(told.find(({ field }) => field === 'can_message')).toMatchObject({
      from: 'grant',
      by: 'human:ada@dashboard',
      at: 300,
    })
    expect(told.find(({ field }) => field === 'can_spawn')).toMatchObject({ from: 'none', by: 'human:cli' })
  })

  test('a value that its maker chose differs from the default and is a grant of the maker; the others are defaults', () => {
    const record = permissionRecordSchema.parse({ ...workerDefaultRecord, allowed_apis: ['llm'] })
    const rows = [{ ...created, actor: 'human:ada@dashboard' }]
    const told = permissionOrigins(record, { kind: 'worker', rows, lineOf: () => 1 })
    const by = 'human:ada@dashboard'
    expect(told.find(({ field }) => field === 'allowed_apis')).toMatchObject({ from: 'grant', by })
    expect(told.find(({ field }) => field === 'can_message')).toMatchObject({ from: 'default', by })
  })

  test('each value of a record that was written by hand is a grant', () => {
    const rows = [{ ...created, actor: 'human:file' }]
    const told = permissionOrigins(workerDefaultRecord, { kind: 'worker', rows, lineOf: () => 1 })
    expect(told.find(({ field }) => field === 'can_message')).toMatchObject({
      from: 'grant',
      by: 'human:file',
    })
  })

  test('a flag that the operator has because the file leaves it out is a default', () => {
    const told = permissionOrigins(operatorDefaultRecord, { kind: 'operator', rows: [], lineOf: () => null })
    expect(told.find(({ field }) => field === 'can_manage_fleet')).toMatchObject({
      from: 'default',
      by: null,
    })
    expect(told.find(({ field }) => field === 'can_message')).toMatchObject({ from: 'grant', by: null })
  })

  test('grants before the record was removed have no origin', () => {
    const rows = [created, { action: 'permission.revoked', actor: 'system', at: 200, detail: {} }]
    const told = permissionOrigins(workerDefaultRecord, { kind: 'worker', rows, lineOf: () => 1 })
    expect(told.every(({ by }) => by === null)).toBe(true)
  })
})
