import { describe, expect, test } from 'vitest'
import { askedEffect, compileRule, createSharing } from './compile-rule.ts'
import type { PolicyRule } from './compile-rule.ts'
import type { Effect } from './effect.ts'
import type { WrittenRule } from './policy-schema.ts'
import { groupByNeeds, rulesLeft } from './rule-groups.ts'

const effect: Effect = { agent: 'scout', tool: 'http_request', method: 'GET', host: 'a.test', path: '/v1/x' }

function rulesOf(parts: readonly Partial<WrittenRule>[]): readonly PolicyRule[] {
  const sharing = createSharing()
  return parts.map((part, order) => {
    const written = { name: `r${order}`, match: {}, verdict: 'deny', reason: '', ...part } as const
    const rule = compileRule(written, { line: 1, order }, sharing)
    if ('fault' in rule) throw new Error(rule.fault)
    return rule
  })
}

/** The names of the rules that are left to be tested, group by group. */
const left = (parts: readonly Partial<WrittenRule>[], more: Partial<Effect> = {}) =>
  groupByNeeds(rulesOf(parts))
    .map((group) => rulesLeft(group, askedEffect({ ...effect, ...more })).map(({ name }) => name))
    .filter((names) => names.length > 0)

describe('rules that share a part', () => {
  test.each<[string, (at: number) => Partial<WrittenRule>, Partial<Effect>]>([
    ['negation', (at) => ({ when: `!(path.contains("v1") || path.contains("x${at}"))` }), { path: '/v2' }],
    ['comparison', (at) => ({ when: `!path.contains("x${at}") && method != "GET"` }), { method: 'PUT' }],
    ['field', (at) => ({ match: { agent: [`[s]${at}`], host: ['*.b.test'] } }), { host: 'x.b.test' }],
    ['origin', (at) => ({ match: { origin: ['cron'], usd_above: at } }), { origins: ['cron'] }],
    [
      'field of rules that allow',
      (at) => ({ verdict: 'allow', match: { host: ['*'], agent: [`[s]${at}`], method: ['PUT'] } }),
      { method: 'PUT' },
    ],
    ['variable that does not apply', (at) => ({ when: `usd != ${at}.0 && method == "GET"` }), { usd: 7 }],
    [
      'one of several parts',
      (at) => ({ when: `host == "a.test" && method == "PUT" && path != "/${at}"` }),
      { method: 'PUT' },
    ],
  ])('are excluded at once by an equal %s, and kept where it holds', (_what, partOf, more) => {
    const parts = [0, 1, 2].map(partOf)
    expect(left(parts)).toEqual([])
    expect(left(parts, more)).toEqual([['r0', 'r1', 'r2']])
  })

  test('are all kept if a value is hidden that decides', () => {
    const parts = [1, 2].map((at) => ({ when: `path != "/${at}" && method == "PUT"` }))
    expect(left(parts, { method: null })).toEqual([['r0', 'r1']])
    expect(left(parts, { method: null, path: '/1' })).toEqual([['r0', 'r1']])
    expect(
      left(
        [1, 2].map((at) => ({ match: { method: ['PUT'], agent: [`a${at}`] } })),
        { method: null },
      ),
    ).toEqual([['r0', 'r1']])
    const allowing = [1, 2].map((at) => ({
      verdict: 'allow' as const,
      match: { method: ['PUT'], agent: [`a${at}`] },
    }))
    expect(left(allowing, { method: null })).toEqual([])
  })

  test('are apart from rules of another kind, in the order of the file', () => {
    const shared = { when: 'method == "PUT" && path != "/a"' }
    const parts = [shared, { match: { agent: ['x'] } }, shared, { match: { agent: ['y'] } }]
    expect(left(parts, { method: 'PUT' })).toEqual([
      ['r0', 'r2'],
      ['r1', 'r3'],
    ])
    expect(left(parts)).toEqual([['r1', 'r3']])
  })

  test('that bound several numbers are found by the limits of each, from eight rules on', () => {
    const within = (count: number) =>
      Array.from({ length: count }, (_none, at) => ({
        when: `path.size() > ${count - at} && usd > ${at}.0 && usd < 9.0`,
      }))
    const path = (length: number) => `/${'x'.repeat(length - 1)}`
    expect(left(within(8), { usd: 2.5, path: path(20) })).toEqual([['r0', 'r1', 'r2']])
    expect(left(within(8), { usd: 8, path: path(3) })).toEqual([['r7', 'r6', 'r5']])
    expect(left(within(8), { usd: 20, path: path(20) })).toEqual([])
    expect(left(within(8), { path: path(20) })).toEqual([])
    expect(left(within(7), { usd: 2.5, path: path(20) })[0]).toHaveLength(7)
  })

  test('share nothing by writing a part twice in one rule', () => {
    expect(left([{ when: 'method == "PUT" && method == "PUT"' }])).toEqual([['r0']])
  })

  test('share no part between rules that allow and those that do not', () => {
    const match = { method: ['PUT'] }
    expect(left([{ match }, { match, verdict: 'allow' }], { method: null })).toEqual([['r0', 'r1']])
  })

  test('are excluded by a part that holds for no reading of the path', () => {
    const parts = [1, 2].map((at) => ({ when: `path.startsWith("/admin") && host != "h${at}"` }))
    expect(left(parts, { path: '/%61dmin' })).toEqual([['r0', 'r1']])
    expect(left(parts, { path: '/b' })).toEqual([])
  })
})
