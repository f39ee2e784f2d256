import { expect, test } from 'vitest'
import { lostHomesFinding } from './lost-homes-finding.ts'

const homes = (count: number, networks = 2) =>
  Array.from({ length: count }, (_, at) => ({ tag: `0000000${at}`, networks }))

test('networks of missing homes are counted and named, with the command that deletes them', () => {
  const { level, detail, repair } = lostHomesFinding(homes(7))
  expect(level).toBe('warning')
  expect(detail).toContain('has 14 networks')
  expect(detail).toContain('00000000, 00000001')
  expect(detail).toContain('and 2 more')
  expect(repair).toContain('flotilla prune --lost TAG')
})

test('missing homes without networks are no warning', () => {
  expect(lostHomesFinding(homes(2, 0)).level).toBe('ok')
})
