import { describe, expect, test } from 'vitest'
import { collectJournal } from '../../../../tests/support/collected-ports.ts'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { silentLog } from '../../../foundation/src/platform/log.ts'
import { Problem } from '../../../protocol/src/problem.ts'
import { createCheckEffect } from './check-effect.ts'
import { snapshotOf } from './policy-file.ts'

const scout = { kind: 'agent', agentId: 'scout', token: 'door', run: null } as const
const owner = { kind: 'human', channel: 'cli', role: 'owner' } as const
const notice = { tool: 'browser' } as const

function aCheck(text: string, asked: string[] = []) {
  const journal = collectJournal()
  const noted: string[] = []
  const clock = createManualClock()
  const check = createCheckEffect({
    policy: { snapshot: () => snapshotOf(text) },
    projectOf: (agentId) => (agentId === 'scout' ? 'site' : null),
    originsOf: (runId) => {
      asked.push(runId)
      return { origins: ['webhook'], channels: ['mesh'] }
    },
    journal,
    clock,
    log: silentLog,
    use: {
      note: (agentId, { details: { tool } }, { verdict, rule }) =>
        noted.push(`${agentId} ${tool} ${verdict} ${rule}`),
    },
  })
  return { check, journal, noted, clock }
}

const rule = (match: string, verdict: string) =>
  `rules:\n  - { name: r, match: ${match}, verdict: ${verdict}, reason: No. }`
const withRun = (runId: string) =>
  ({
    ...scout,
    run: {
      agentId: 'scout',
      runId,
      fence: 1,
      budgetUsd: null,
      budgetTokens: null,
      taskId: null,
      origin: { kind: 'agent', channel: 'agent' },
    },
  }) as const
const denied = (detail: string) => expect.objectContaining({ code: 'policy-denied', detail })

describe('the check of an effect', () => {
  test('a denied effect is refused with its rule and line, and recorded', () => {
    const { check, journal } = aCheck(rule('{ agent: scout }', 'deny'))
    expect(() => check(scout, { tool: 'mcp', mcpServer: 'crm', mcpTool: 'x' })).toThrow(
      denied('No. (rule r, config/policy.yaml line 2)'),
    )
    expect(journal.entries).toMatchObject([
      {
        actor: 'agent:scout',
        action: 'policy.denied',
        subject: 'crm/x',
        detail: { tool: 'mcp', verdict: 'deny', rule: 'r', line: 2, reason: 'No.', skipped: 0 },
      },
    ])
  })

  test('a refusal names rule and line as far as there are any', () => {
    const extraOf = (text: string) => {
      try {
        return aCheck(text).check(scout, notice)
      } catch (error) {
        return error instanceof Problem ? error.extra : error
      }
    }
    expect(extraOf(rule('{ agent: scout }', 'deny'))).toEqual({ rule: 'r', line: 2 })
    expect(extraOf('rule: 1')).toEqual({ line: 1 })
  })

  test('a record has nothing that is hidden or absent, and long texts are cut', () => {
    const { check, journal } = aCheck(rule('{ agent: scout }', 'deny').replace('No.', 'x'.repeat(300)))
    const long = 'h'.repeat(300)
    expect(() => check(scout, { tool: 'connect', host: long, method: null, path: null })).toThrow('xxx')
    expect(() => check(scout, { tool: 'connect', host: 'h', method: 'GET', path: `/${long}` })).toThrow('xxx')
    const reason = 'x'.repeat(200)
    const detail = { tool: 'connect', verdict: 'deny', rule: 'r', line: 2, reason, skipped: 0 }
    expect(journal.entries.map((entry) => [entry.subject, entry.detail])).toEqual([
      ['h'.repeat(200), detail],
      ['h', { ...detail, method: 'GET', path: `/${'h'.repeat(199)}` }],
    ])
  })

  test('refusals of an agent in a loop do not flood the audit log', () => {
    const { check, journal } = aCheck(rule('{ agent: scout }', 'deny'))
    for (let count = 0; count < 100; count++) expect(() => check(scout, notice)).toThrow('No.')
    expect(journal.entries).toHaveLength(20)
  })

  test('an effect to be asked for is returned, and refused where no person can be asked', () => {
    const { check, journal } = aCheck(rule('{ tool: browser }', 'ask'))
    expect(check(scout, notice)).toMatchObject({ verdict: 'ask', rule: 'r' })
    expect(() => check.requireAllowed(scout, notice, 'do this instead')).toThrow(
      denied('No. (rule r, config/policy.yaml line 2); do this instead'),
    )
    expect(journal.entries).toMatchObject([
      { action: 'policy.asked', subject: 'browser', detail: { verdict: 'ask', rule: 'r' } },
      { action: 'policy.denied', subject: 'browser', detail: { verdict: 'ask' } },
    ])
  })

  test('every decision of a rule is counted, and one allowed effect a minute is recorded with the number of others', async () => {
    const { check, journal, noted, clock } = aCheck(rule('{ agent: scout }', 'allow'))
    for (let count = 0; count < 5; count++)
      check(scout, { ...notice, host: 'a.test', path: '/x', method: 'GET' })
    expect(noted).toEqual(Array(5).fill('scout browser allow r'))
    expect(journal.entries).toHaveLength(1)
    await clock.advance(60_000)
    check(scout, { ...notice, host: 'a.test', path: '/x', method: 'GET' })
    expect(journal.entries).toMatchObject([
      {
        action: 'policy.allowed',
        subject: 'a.test',
        detail: { rule: 'r', skipped: 0, path: '/x', method: 'GET' },
      },
      { action: 'policy.allowed', detail: { rule: 'r', skipped: 4 } },
    ])
  })

  test('an effect without a rule is neither counted as one nor recorded', () => {
    const { check, journal } = aCheck(rule('{ agent: other }', 'deny'))
    check(scout, notice)
    expect(journal.entries).toEqual([])
  })

  test('an approved effect is not counted again, and is refused if a rule denies it by now', () => {
    const { check, noted, journal } = aCheck(rule('{ agent: scout }', 'ask'))
    expect(check.ofApproved(scout, notice)).toMatchObject({ verdict: 'ask' })
    expect(() => check.ofApproved.requireAllowed(scout, notice, 'instead')).toThrow('instead')
    expect(() => aCheck(rule('{ agent: scout }', 'deny')).check.ofApproved(scout, notice)).toThrow('No.')
    expect(noted).toEqual(['scout browser ask r'])
    expect(journal.entries).toMatchObject([{ action: 'policy.denied' }])
  })

  test('people are not subject to the policy, and neither are effects without a rule', () => {
    const { check } = aCheck(rule("{ agent: '*' }", 'deny'))
    expect(check(owner, notice).verdict).toBe('allow')
    expect(aCheck('').check.requireAllowed(scout, notice, '').verdict).toBe('allow')
  })

  test('a rule sees the project of the agent and the origins of its run', () => {
    expect(() => aCheck(rule('{ project: site }', 'deny')).check(scout, notice)).toThrow('No.')
    const asked: string[] = []
    const { check } = aCheck(rule('{ origin: webhook }', 'deny'), asked)
    expect(() => check(withRun('run_7'), notice)).toThrow('No.')
    expect(asked).toEqual(['run_7'])
    expect(aCheck(rule('{ origin: human }', 'deny')).check(withRun('run_7'), notice).verdict).toBe('allow')
    // Work without a run has no known origin, so a rule that denies applies.
    expect(() => aCheck(rule('{ origin: human }', 'deny')).check(scout, notice)).toThrow('No.')
  })

  test('origins are read only if a rule needs them', () => {
    const asked: string[] = []
    aCheck(rule('{ tool: browser }', 'allow'), asked).check(withRun('run_7'), notice)
    expect(asked).toEqual([])
  })

  test('an approved effect is checked again: what is denied by now is refused, what is asked for passes', () => {
    const of = { agentId: 'scout', runId: 'run_7' }
    expect(() => aCheck(rule('{ origin: webhook }', 'deny')).check.again(of, notice)).toThrow('No.')
    expect(aCheck(rule('{ origin: webhook }', 'ask')).check.again(of, notice)).toBeUndefined()
  })

  test('of several effects the strictest is found, the first of equal ones, and nothing is recorded', () => {
    const { check, journal, noted } = aCheck(
      `rules:
  - { name: a, match: { tool: harness_edit }, verdict: ask, reason: No. }
  - { name: b, match: { tool: harness_execute }, verdict: deny, reason: No. }
  - { name: c, match: { tool: harness_delete }, verdict: ask, reason: No. }`,
    )
    const [other, read, edit, execute, remove] = (
      ['other', 'read', 'edit', 'execute', 'delete'] as const
    ).map((name) => ({ tool: `harness_${name}` as const }))
    if (!other || !read || !edit || !execute || !remove) throw new Error('a kind is missing')
    expect(check.strictest(scout, [other, edit, execute, remove])).toBe(execute)
    expect(check.strictest(scout, [other, remove, edit])).toBe(remove)
    expect(check.strictest(scout, [other, read])).toBe(other)
    expect([journal.entries, noted]).toEqual([[], []])
  })

  test('an invalid policy denies, and names its line', () => {
    const { check, journal } = aCheck('rule: 1')
    expect(check.isActive()).toBe(true)
    expect(() => check(scout, notice)).toThrow(
      denied(
        'all effects are denied, because the policy is invalid: config/policy.yaml line 1: file: "rule" is not a known name here; correct or remove it',
      ),
    )
    expect(journal.entries).toMatchObject([{ detail: { rule: '', line: 1 } }])
  })

  test('is active with a rule, and idle without one', () => {
    expect(aCheck('').check.isActive()).toBe(false)
    expect(aCheck(rule('{ agent: a }', 'allow')).check.isActive()).toBe(true)
  })

  test('an explanation decides for given origins and records nothing', () => {
    const { check, journal } = aCheck(
      `${rule('{ origin: webhook }', 'deny')}\n  - { name: s, match: { channel: [telegram, slack] }, verdict: deny }`,
    )
    const of = (origin: string, channel: string | null = 'cli') =>
      check.explain('scout', notice, { origins: [origin], channels: channel === null ? null : [channel] })
    expect(of('webhook').verdict).toBe('deny')
    expect(of('human').verdict).toBe('allow')
    expect(of('human', 'telegram').verdict).toBe('deny')
    // A channel that is not known may be any.
    expect(of('human', null).verdict).toBe('deny')
    expect(journal.entries).toEqual([])
  })

  test('a denied effect is not said to be possible in another way', () => {
    const { check } = aCheck(rule('{ tool: browser }', 'deny'))
    expect(() => check.requireAllowed(scout, notice, 'do this instead')).toThrow(
      denied('No. (rule r, config/policy.yaml line 2)'),
    )
    const asking = aCheck(rule('{ tool: browser }', 'ask')).check
    expect(() => asking.requireAllowed(scout, notice, '')).toThrow(
      denied('No. (rule r, config/policy.yaml line 2)'),
    )
  })

  test('the allowed effects of each rule are recorded by themselves', () => {
    const { check, journal } = aCheck(`rules:
  - { name: a, match: { tool: browser }, verdict: allow }
  - { name: b, match: { tool: mcp }, verdict: allow }`)
    check(scout, notice)
    check(scout, { tool: 'mcp', mcpServer: 'crm', mcpTool: null })
    expect(journal.entries.map(({ subject, detail }) => [subject, detail?.['rule']])).toEqual([
      ['browser', 'a'],
      ['crm', 'b'],
    ])
  })

  test('an approved effect that is denied by now is recorded for its agent', () => {
    const { check, journal } = aCheck(rule('{ tool: browser }', 'deny'))
    expect(() => check.again({ agentId: 'scout', runId: 'run_7' }, notice)).toThrow('No.')
    expect(journal.entries).toMatchObject([{ actor: 'agent:scout', action: 'policy.denied' }])
  })

  test('the strictest effect depends on the origins of the run, and people have none', () => {
    const choices = [{ tool: 'harness_other' }, { tool: 'harness_edit' }] as const
    const of = (origin: string) => aCheck(rule(`{ tool: harness_edit, origin: ${origin} }`, 'deny')).check
    expect(of('human').strictest(withRun('run_7'), choices)).toBe(choices[0])
    expect(of('webhook').strictest(withRun('run_7'), choices)).toBe(choices[1])
    expect(of('human').strictest(scout, choices)).toBe(choices[1])
    expect(aCheck(rule("{ agent: '*' }", 'deny')).check.strictest(owner, choices)).toBe(choices[0])
  })
})
