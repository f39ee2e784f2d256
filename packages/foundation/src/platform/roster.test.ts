import { describe, expect, test } from 'vitest'
import { keptByChurn, keptMaxBytes } from '../../../../tests/support/kept-by-churn.ts'
import { createRoster } from './roster.ts'

describe('a roster', () => {
  test('a roster contains its members in any order of leaving', () => {
    const roster = createRoster<string>()
    const leave = new Map(['a', 'b', 'c', 'd'].map((name) => [name, roster.join(name)]))
    expect(leave.get('b')?.()).toBe(true)
    expect(roster.members().toSorted()).toEqual(['a', 'c', 'd'])
    expect(leave.get('d')?.()).toBe(true)
    expect(leave.get('a')?.()).toBe(true)
    expect(roster.members()).toEqual(['c'])
    expect(roster.size()).toBe(1)
  })

  test('a roster lets each leave once, and takes the same one twice', () => {
    const roster = createRoster<string>()
    const [first, second] = [roster.join('a'), roster.join('a')]
    expect([first(), first()]).toEqual([true, false])
    expect(roster.members()).toEqual(['a'])
    expect([second(), second(), first()]).toEqual([true, false, false])
    expect(roster.size()).toBe(0)
  })

  test('iteration is not affected by concurrent changes', () => {
    const roster = createRoster<() => void>()
    const seen: number[] = []
    const leaves = [0, 1, 2].map((number) => roster.join(() => seen.push(number)))
    for (const member of roster.members()) {
      leaves[1]?.()
      member()
    }
    expect(seen).toEqual([0, 1, 2])
    expect(roster.size()).toBe(2)
  })

  // A full garbage collection at the wrong time would release the set's memory too, so one retry is allowed.
  test('a roster keeps nothing of those who have left, as a set would', { retry: 2 }, () => {
    const outgrown = new Set<readonly number[]>()
    const roster = createRoster<readonly number[]>()
    expect(keptByChurn((payload) => roster.join(payload))).toBeLessThan(keptMaxBytes)
    const kept = keptByChurn((payload) => {
      outgrown.add(payload)
      return () => outgrown.delete(payload)
    })
    expect(kept).toBeGreaterThan(keptMaxBytes)
  })
})
