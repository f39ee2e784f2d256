import { expect, test } from 'vitest'
import { migrated } from '../../../testing/src/ledger-harness.ts'
import { createCapabilityTable } from './capability-table.ts'

test('the capabilities of an agent are those of its last declaration that was not rolled back', () => {
  const database = migrated()
  const table = createCapabilityTable(database)
  expect(table.of('a')).toEqual([])
  table.replace('a', ['write', 'read'], 0)
  expect(table.of('a')).toEqual(['read', 'write'])
  expect(() =>
    database.transaction(() => {
      table.replace('a', ['count'], 0)
      expect(table.of('a')).toEqual(['count'])
      throw new Error('rolled back')
    }),
  ).toThrow('rolled back')
  expect(table.of('a')).toEqual(['read', 'write'])
  table.forget('a')
  expect(table.of('a')).toEqual([])
})

test('a list of agents reads the capabilities of each agent once', () => {
  const database = migrated()
  const table = createCapabilityTable(database)
  table.replace('a', ['read'], 0)
  expect(table.of('a')).toBe(table.of('a'))
})
