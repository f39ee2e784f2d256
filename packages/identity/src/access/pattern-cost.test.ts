import { wireLimits } from '@flotilla/protocol/limits'
import { permissionListLimits, permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { loopCpuMs } from '../../../foundation/src/platform/system-clock.ts'
import { authorize } from './authorize.ts'
import { compiledMaxBytes, compilingUse, credentialMatches, keyMatches, matchingSteps } from './glob.ts'
import { operatorMayChange } from './operator-ceiling.ts'
import { submittedFields } from './permission-change.ts'
import { withinParent } from './within-parent.ts'

const { entriesMax, entryMaxChars } = permissionListLimits
const keyMaxChars = wireLimits.blackboardKeyMaxChars
/** Number of 32-bit state words of a pattern of maximum length. */
const wordsMax = Math.ceil((entryMaxChars + 1) / 32)

const pieces = ['**/', '**', '*', 'a', 'b', 'a/', '/', '?', '[ab]', '[!a]', '[', ']']
const anyPattern = fc
  .array(fc.constantFrom(...pieces), { minLength: 1, maxLength: entryMaxChars })
  .map((some) => some.join('').repeat(entryMaxChars).slice(0, entryMaxChars))
const anyKey = fc.array(fc.constantFrom('a', 'b', 'a/', 'b/'), { minLength: 1, maxLength: 20 }).map(
  (some) =>
    `${some
      .join('')
      .repeat(keyMaxChars)
      .slice(0, keyMaxChars - 1)}a`,
)

/**
 * No accepted pattern costs more than 20 microseconds on the longest key. Time depends on the machine, so the test
 * counts steps, each the work on one word of states: about ten operations on integers without a loop, an allocation or
 * a branch that depends on the pattern.
 *
 * - A pattern has at most 200 characters, so at most 201 states and 7 words of 32 bits.
 * - Each of the at most 512 characters of a key costs one step for each word: at most 3,584 steps.
 * - 20 microseconds are 5.6 nanoseconds for each step, which is about 17 cycles of a processor of 3 GHz.
 *
 * `npm run bench -- patterns` measures the time beside the floor of one read of the key.
 */
const stepsMax = wordsMax * keyMaxChars

describe('the cost of a pattern at its bound on the longest key', () => {
  test('the bounds of patterns and keys allow as many steps as fit into the time', () => {
    expect([entryMaxChars, keyMaxChars, wordsMax, stepsMax]).toEqual([200, 512, 7, 3584])
  })

  test.each(['key', 'credential'] as const)(
    'matching %s takes a fixed number of steps per character',
    (kind) => {
      fc.assert(
        fc.property(anyPattern, anyKey, (pattern, key) => {
          expect(matchingSteps(kind, pattern, key)).toBeLessThanOrEqual(wordsMax * key.length)
        }),
        { numRuns: 500 },
      )
    },
  )

  test('the cost of a pattern at its bound on the longest key is counted, and not nothing', () => {
    expect(matchingSteps('key', '**/a'.repeat(50), 'b/'.repeat(255).concat('b'))).toBeGreaterThan(511)
  })

  test('a key longer than the bound matches no pattern', () => {
    const key = `${'a/'.repeat(keyMaxChars / 2)}a`
    expect(key.length).toBeGreaterThan(keyMaxChars)
    expect(keyMatches('**', key)).toBe(false)
    expect(keyMatches('*', key)).toBe(false)
    expect(keyMatches('**', key.slice(2))).toBe(true)
  })
})

const record = (fields: Partial<PermissionRecord>) => permissionRecordSchema.parse(fields)
const reads = (patterns: readonly string[]) => ({
  broken: null,
  recordOf: () => record({ blackboard_read: [...patterns] }),
})

/** Measures the CPU time of decisions, which other work of the machine does not affect. */
function decidingMs(patterns: readonly string[], key: string): number {
  const records = reads(patterns)
  const caller = { kind: 'agent', agentId: 'a', token: 'door', run: null } as const
  const before = loopCpuMs()
  for (let times = 0; times < 5; times++) {
    expect(authorize(records, caller, { do: 'read-blackboard', key }).allowed).toBe(false)
  }
  return loopCpuMs() - before
}

test('a list of worst-case patterns costs no more than the sum of its parts', () => {
  const key = `${'a/'.repeat(keyMaxChars / 2 - 1)}b`
  const list = (piece: string) =>
    Array.from({ length: entriesMax }, (_, index) =>
      `${index}`.padStart(3, '*').concat(piece.repeat(40), 'c'),
    )
  const nested = Array.from({ length: entriesMax }, (_, index) =>
    `${'**/'.repeat(60)}${index}c`.slice(0, entryMaxChars),
  )
  const { compiled } = compilingUse('key')
  decidingMs(nested, key)
  expect(compilingUse('key').compiled - compiled).toBe(entriesMax)
  const plainMs = Math.max(decidingMs(list('a*b'), key), 5)
  // A backtracking matcher took more than a thousand times as long.
  expect(decidingMs(nested, key) / plainMs).toBeLessThan(10)
})

test('decisions of six agents with lists of the maximum length compile no pattern again', () => {
  const pattern = (agent: number, index: number) =>
    `**/agent-${agent}/${index}/${'folder-*/'.repeat(30)}`.slice(0, entryMaxChars)
  const lists = Array.from({ length: 6 }, (_one, agent) =>
    reads(Array.from({ length: entriesMax }, (_two, index) => pattern(agent, index))),
  )
  const caller = { kind: 'agent', agentId: 'a', token: 'door', run: null } as const
  const compiledByAll = () => {
    const { compiled } = compilingUse('key')
    for (const records of lists) {
      expect(authorize(records, caller, { do: 'read-blackboard', key: 'reports/today' }).allowed).toBe(false)
    }
    return compilingUse('key').compiled - compiled
  }
  expect([compiledByAll(), compiledByAll(), compiledByAll()]).toEqual([6 * entriesMax, 0, 0])
})

test('the memory of compiled patterns has a limit, and above it the patterns in use stay compiled', () => {
  const use = (kind: 'key' | 'credential', from: number, to: number) => {
    const { compiled } = compilingUse(kind)
    for (let index = from; index < to; index++) {
      // Half of the text is distinct characters, which need the largest tables.
      const distinct = Array.from({ length: 90 }, (_one, at) => String.fromCharCode(0x4e00 + index + at))
      const pattern = `${'[a-c]?'.repeat(16)}${distinct.join('')}*`
      if (kind === 'key') keyMatches(`**${pattern}`, 'key')
      else credentialMatches(`*${pattern}`, 'name')
      expect(compilingUse(kind).bytes).toBeLessThanOrEqual(compiledMaxBytes)
    }
    return compilingUse(kind).compiled - compiled
  }
  for (const kind of ['key', 'credential'] as const) {
    expect(use(kind, 0, 1000)).toBe(1000)
    expect(use(kind, 1000, 4000)).toBe(3000)
    expect(compilingUse(kind).bytes).toBeGreaterThan(compiledMaxBytes / 2)
    expect(use(kind, 0, 500)).toBe(0)
    const again = use(kind, 0, 4000)
    expect(again).toBe(use(kind, 0, 4000))
    expect(again).toBeLessThan(3500)
  }
})

describe('comparing lists at their bounds', () => {
  /** Nearly equal texts, so that each comparison reads them to their ends. */
  const long = (count: number, mark: string) =>
    Array.from({ length: count }, (_, index) => `${'a'.repeat(entryMaxChars - 8)}${mark}${index}`)
  const ratio = (work: (count: number) => unknown, counts: readonly [number, number]) => {
    const [few, many] = counts.map((count) => {
      work(count)
      const before = loopCpuMs()
      for (let times = 0; times < 3; times++) work(count)
      return loopCpuMs() - before
    }) as [number, number]
    return many / Math.max(few, 2)
  }
  /** Sixteen times the entries: linear work takes sixteen times as long, comparing all pairs 256 times. */
  const counts = [2000, 32_000] as const

  test.each([
    [
      'within a parent',
      (count: number) => {
        const all = { ...record({}), blackboard_read: long(count, 'x') }
        return withinParent(all, { ...all, blackboard_read: long(count, 'y') })
      },
    ],
    [
      'under the ceiling of the operator',
      (count: number) =>
        operatorMayChange(
          { ...record({}), allowed_apis: long(count, 'x') },
          { allowed_apis: long(count, 'x').toReversed() },
        ),
    ],
    [
      'with entries taken away',
      (count: number) =>
        submittedFields(
          { ...record({}), blackboard_read: long(count, 'x') },
          { set: {}, add: {}, remove: { blackboard_read: long(count, 'y') } },
        ),
    ],
  ])('%s is linear', (_what, work) => {
    expect(ratio(work, counts)).toBeLessThan(100)
  })
})

test('a credential is matched without trying each stretch at each place', () => {
  expect(credentialMatches(`${'*a'.repeat(99)}b`, 'a'.repeat(300))).toBe(false)
  expect(matchingSteps('credential', `${'*a'.repeat(99)}b`, 'a'.repeat(300))).toBeLessThanOrEqual(
    300 * wordsMax,
  )
})
