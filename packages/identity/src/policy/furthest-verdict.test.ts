import { describe, expect, test } from 'vitest'
import { createFurthestVerdict } from './furthest-verdict.ts'
import { snapshotOf } from './policy-file.ts'

const effect = {
  agent: 'scout',
  project: 'site',
  mcpServer: 'crm',
  tool: 'http_request',
  host: 'api.test',
  credentials: ['github'],
}
const furthest = (...rules: readonly string[]) =>
  createFurthestVerdict(snapshotOf(`rules:\n${rules.map((rule) => `  - ${rule}\n`).join('')}`).rules)(effect)

test('a rule that excepts some name below a domain counts for the domain', () => {
  const { rules } = snapshotOf(`rules:
  - { name: asked, match: { host: '*.api.test' }, verdict: ask }
  - { name: except, match: { host: one.api.test, tool: http_request }, verdict: allow, excepts: asked }
  - { name: denied, match: { tool: browser }, verdict: deny }`)
  const at = createFurthestVerdict(rules)
  const place = { agent: 'scout', tool: 'http_request', host: 'any-name.api.test', credentials: [] }
  expect(at(place).verdict).toBe('ask')
  expect(at({ ...place, isDomain: true }).verdict).toBe('allow')
  expect(at({ ...place, tool: 'mcp', isDomain: true }).verdict).toBe('ask')
  expect(at({ ...place, tool: 'browser', isDomain: true }).verdict).toBe('deny')
})

describe('the mildest verdict that an effect at a place can get', () => {
  test.each([
    ['{ name: r, match: { host: api.test }, verdict: deny }', 'deny'],
    ['{ name: r, match: { agent: scout, tool: http_*, credential: github }, verdict: ask }', 'ask'],
    ['{ name: r, match: { host: other.test }, verdict: deny }', 'allow'],
    ['{ name: r, match: { host: api.test, path: /a }, verdict: deny }', 'allow'],
    ['{ name: r, match: { host: api.test, method: POST }, verdict: deny }', 'allow'],
    ['{ name: r, match: { host: api.test, origin: webhook }, verdict: deny }', 'allow'],
    ['{ name: r, match: { host: api.test }, when: \'method == "POST"\', verdict: deny }', 'allow'],
    ["{ name: r, match: { host: api.test }, when: 'credentials.size() == 1', verdict: deny }", 'allow'],
    ['{ name: r, match: { project: site, mcp_server: crm }, verdict: deny }', 'deny'],
    ['{ name: r, match: { host: api.test, usd_above: 1 }, verdict: deny }', 'allow'],
    ['{ name: r, match: { host: api.test, mcp_tool: "*" }, verdict: ask }', 'allow'],
    ['{ name: r, match: { host: api.test }, verdict: allow }', 'allow'],
  ])('with the rule %s is %s', (rule, verdict) => {
    expect(furthest(rule)).toEqual({ verdict, rule: verdict === 'allow' ? null : 'r' })
  })

  test('is allow as soon as an exception could apply, and ask if none can', () => {
    const ask = '{ name: asked, match: { host: api.test }, verdict: ask }'
    const except = (match: string) => `{ name: except, match: ${match}, verdict: allow, excepts: asked }`
    expect(furthest(ask, except('{ path: /a }')).verdict).toBe('allow')
    expect(furthest(ask, except('{ host: other.test, path: /a }')).verdict).toBe('ask')
    expect(furthest(ask, except('{ agent: other }')).verdict).toBe('ask')
    expect(furthest(ask, except('{ project: other, path: /a }')).verdict).toBe('ask')
    expect(furthest(ask, except('{ mcp_server: other, path: /a }')).verdict).toBe('ask')
    // A request may have both credentials.
    expect(furthest(ask, except('{ credential: other, path: /a }')).verdict).toBe('allow')
    expect(furthest(ask, except('{ tool: browser, path: /a }')).verdict).toBe('ask')
    const more = '{ name: more, match: { host: api.test }, verdict: ask }'
    expect(furthest(ask, more, except('{ path: /a }'))).toEqual({ verdict: 'ask', rule: 'more' })
  })
})
