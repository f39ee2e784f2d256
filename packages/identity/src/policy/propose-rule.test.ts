import { describe, expect, test } from 'vitest'
import { createDecideEffect } from './decide-effect.ts'
import type { Effect, EffectDetails } from './effect.ts'
import { snapshotOf } from './policy-file.ts'
import { createTryRule, proposeRule } from './propose-rule.ts'

const { rules } = snapshotOf(`rules:
  - { name: asked, match: { agent: '*' }, verdict: ask }
  - { name: admin, match: { path: '/admin/**' }, verdict: deny }`)
const request: EffectDetails = {
  tool: 'http_request',
  method: 'POST',
  host: 'api.test',
  path: '/v1/items',
  credentials: ['github'],
}
const call: EffectDetails = { tool: 'mcp', mcpServer: 'crm', mcpTool: 'write[1]', credentials: [] }
const transfer: EffectDetails = {
  tool: 'wallet_transfer',
  chain: 'base',
  contract: '0xc0',
  payees: ['0xab', '0xcd'],
  usd: 12.301,
}
const execute: EffectDetails = { ...transfer, tool: 'wallet_execute', call: 'a'.repeat(64) }
const harnessCall: EffectDetails = { tool: 'harness_execute', call: 'b'.repeat(64) }
const why = { rule: 'asked', reason: 'Always.', origins: ['human'] }

/** The verdict about an effect after the rule that is proposed for `proposedFor` was added. */
function after(proposedFor: EffectDetails, effect: Partial<Effect> = {}) {
  const rule = proposeRule('scout', proposedFor, why)
  if (rule === null) throw new Error('no rule is proposed')
  return createTryRule(rules)(rule).decide({ agent: 'scout', origins: ['human'], ...proposedFor, ...effect })
    .verdict
}

describe('a proposed rule', () => {
  test('allows the effect that it was proposed for, which was asked for before', () => {
    expect(createDecideEffect(rules)({ agent: 'scout', ...request }).verdict).toBe('ask')
    expect(after(request)).toBe('allow')
    expect(after(call)).toBe('allow')
    expect(after({ ...request, credentials: [] })).toBe('allow')
  })

  test.each<[string, EffectDetails]>([
    ['a tool with a long name of wildcards', { ...call, mcpTool: '*'.repeat(101) }],
    ['a tool with many control characters', { ...call, mcpTool: '\u0001'.repeat(200) }],
    ['a host that no rule can name', { ...request, host: 'a!b.api.test' }],
  ])('does not exist for %s', (_what, effect) => {
    expect(proposeRule('scout', effect, why)).toBeNull()
  })

  test.each<[string, Partial<Effect>]>([
    ['agent', { agent: 'other' }],
    ['tool', { tool: 'connect' }],
    ['method', { method: 'DELETE' }],
    ['host', { host: 'x.api.test' }],
    ['path', { path: '/v1/items/7' }],
    ['spelling of the path', { path: '/v1/../admin' }],
    ['hidden path', { path: null }],
    ['credential', { credentials: ['gitlab'] }],
    ['further credential', { credentials: ['github', 'gitlab'] }],
    ['request without the credential', { credentials: [] }],
    ['origin', { origins: ['webhook'] }],
    ['further origin', { origins: ['human', 'webhook'] }],
    ['unknown origin', { origins: null }],
  ])('does not allow an effect with another %s', (_what, other) => {
    expect(after(request, other)).not.toBe('allow')
  })

  test.each<[string, Partial<Effect>]>([
    ['server', { mcpServer: 'other' }],
    ['tool that its name would match as a pattern', { mcpTool: 'write1' }],
    ['case', { mcpTool: 'Write[1]' }],
    ['hidden tool', { mcpTool: null }],
    ['credential', { credentials: ['github'] }],
  ])('for a tool of an MCP server does not allow another %s', (_what, other) => {
    expect(after(call, other)).not.toBe('allow')
  })

  test.each<[string, Partial<Effect>]>([
    ['chain', { chain: 'ethereum' }],
    ['contract', { contract: '0xc1' }],
    ['receiver', { payees: ['0xab', '0xce'] }],
    ['further receiver', { payees: ['0xab', '0xcd', '0xce'] }],
    ['unknown contract', { contract: undefined as never }],
    ['higher value', { usd: 12.32 }],
    ['hidden value', { usd: null }],
    ['kind of payment', { tool: 'wallet_execute', call: 'a'.repeat(64) }],
    ['origin', { origins: ['webhook'] }],
  ])('for a payment does not allow another %s', (_what, other) => {
    expect(after(transfer)).toBe('allow')
    expect(after(transfer, { usd: 12.31 })).toBe('allow')
    expect(after(transfer, other)).toBe('ask')
  })

  test('for a call of a contract or of a harness allows the very same call alone', () => {
    for (const one of [execute, harnessCall]) {
      expect(after(one)).toBe('allow')
      expect(after(one, { call: 'c'.repeat(64) })).toBe('ask')
      expect(after(one, { call: null })).toBe('ask')
    }
    expect(after(execute, { usd: 13 })).toBe('ask')
    expect(after(harnessCall, { tool: 'harness_edit' })).toBe('ask')
  })

  test('does not allow what another rule denies', () => {
    expect(after({ ...request, path: '/admin/users' })).toBe('deny')
  })

  test.each<[string, EffectDetails]>([
    ['a hidden path', { ...request, path: null }],
    ['a hidden method', { ...request, method: null }],
    ['a path with a star', { ...request, path: '/a*' }],
    ['a path that is longer than a pattern', { ...request, path: `/${'a'.repeat(300)}` }],
    ['an unknown tool', { ...call, mcpTool: null }],
    ['a payment of unknown value', { ...transfer, usd: null }],
    ['a payment to unknown addresses', { tool: 'wallet_transfer', chain: 'base', contract: 'coin', usd: 1 }],
    ['a payment of an earlier release', { tool: 'wallet_transfer', chain: 'base', payees: ['0xab'], usd: 1 }],
    [
      'a payment to more addresses than a condition can name',
      { ...transfer, payees: Array(51).fill('0xab') },
    ],
    ['a call of a contract that is not known whole', { ...execute, call: null }],
    ['a call of a harness that is not known whole', { ...harnessCall, call: null }],
    ['no host', { tool: 'browser', method: 'GET', path: '/' }],
  ])('is not made for %s', (_what, effect) => {
    expect(proposeRule('scout', effect, why)).toBe(null)
  })

  test('has one name for one effect', () => {
    const name = (effect: EffectDetails) => proposeRule('scout', effect, why)?.name
    expect(name(request)).toMatch(/^always-scout-[0-9a-f]{8}$/)
    expect(name(request)).toBe(name({ ...request }))
    expect(name(request)).not.toBe(name({ ...request, path: '/v1' }))
  })

  test('names its origins in order, or none, and its agent as far as a name can', () => {
    const when = (origins?: readonly string[]) =>
      proposeRule('scout', call, { rule: 'asked', reason: '', ...(origins && { origins }) })?.when
    expect(when()).toBe('mcp_tool == "write[1]" && credentials.size() == 0')
    expect(when(['human', 'agent'])).toBe(
      'mcp_tool == "write[1]" && credentials.size() == 0 && origins == ["human", "agent"]',
    )
    expect(proposeRule(`My Agent${'x'.repeat(60)}`, request, why)?.name).toMatch(
      /^always-my-agentx{32}-[0-9a-f]{8}$/,
    )
    expect(proposeRule('scout', { ...request, credentials: undefined as never }, why)?.when).toBe(
      'credentials.size() == 0 && origins == ["human"]',
    )
  })

  test('names an effect by what its tool is about', () => {
    expect(proposeRule('scout', { ...request, call: 'c0ffee', mcpTool: 'write' }, why)?.match).toEqual({
      agent: 'scout',
      tool: 'http_request',
      host: 'api.test',
      method: 'POST',
      path: '/v1/items',
    })
    expect(proposeRule('scout', transfer, why)?.match).toEqual({
      agent: 'scout',
      tool: 'wallet_transfer',
      chain: 'base',
    })
    const { chain: _chain, ...without } = transfer
    expect(proposeRule('scout', without, why)).toBe(null)
    expect(proposeRule('scout', { ...request, mcpServer: 'crm', mcpTool: null }, why)).toBe(null)
  })

  test('opens the effects that it decides about, and none that another rule decides about', () => {
    const of = { agent: 'scout', origins: ['human'] }
    const tried = (effect: EffectDetails) => {
      const proposed = proposeRule('scout', effect, why)
      if (proposed === null) throw new Error('no rule is proposed')
      return createTryRule(rules)(proposed)
    }
    expect(tried(request).opens({ ...of, ...request })).toBe(true)
    expect(tried(request).opens({ ...of, ...request, path: '/v2' })).toBe(false)
    expect(tried(request).opens({ ...of, ...request, path: '/admin/x' })).toBe(false)
    const forbidden = { ...request, path: '/admin/users' }
    expect(tried(forbidden).opens({ ...of, ...forbidden })).toBe(false)
  })

  test('that breaks a limit of rules is not tried', () => {
    const proposed = proposeRule('scout', request, why)
    if (proposed === null) throw new Error('no rule is proposed')
    expect(() => createTryRule(rules)({ ...proposed, name: 'No name' })).toThrow(
      'the rule No name breaks a limit of rules',
    )
  })
})
