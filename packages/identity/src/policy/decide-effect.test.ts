import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { askedEffect, compileRule, createSharing } from './compile-rule.ts'
import type { PolicyRule } from './compile-rule.ts'
import { createDecideAsked, createDecideEffect } from './decide-effect.ts'
import type { Effect } from './effect.ts'
import type { Match, WrittenRule } from './policy-schema.ts'

type Part = Partial<Omit<WrittenRule, 'match'>> & { readonly match?: Match }

function rulesOf(parts: readonly Part[]): readonly PolicyRule[] {
  const sharing = createSharing()
  return parts.map((part, order) => {
    const rule = compileRule(
      { name: `r${order}`, match: { agent: ['*'] }, verdict: 'deny', reason: '', ...part },
      { line: order + 1, order },
      sharing,
    )
    if ('fault' in rule) throw new Error(rule.fault)
    return rule
  })
}

const anEffect = (more: Partial<Effect> = {}): Effect => ({
  agent: 'scout',
  tool: 'http_request',
  method: 'GET',
  host: 'api.example.org',
  path: '/v1/items',
  credentials: [],
  origins: ['human'],
  ...more,
})

const decided = (parts: readonly Part[], effect: Effect = anEffect()) => {
  const { verdict, rule } = createDecideEffect(rulesOf(parts))(effect)
  return rule === null ? verdict : `${verdict} by ${rule}`
}

/** The decision by a loop over all rules. */
function decidePlainly(rules: readonly PolicyRule[], effect: Effect) {
  const asked = askedEffect(effect)
  const matching = rules.filter((rule) => rule.matches(asked))
  const [denied] = matching.filter(({ verdict }) => verdict === 'deny')
  const asks = matching.filter(({ verdict }) => verdict === 'ask')
  const excepting = matching.filter(({ excepts }) => excepts.length > 0)
  const asking = asks.find(({ name }) => !excepting.some(({ excepts }) => excepts.includes(name)))
  const exception = asks.length > 0 ? excepting[0] : undefined
  const rule = denied ?? asking ?? exception ?? matching.find(({ verdict }) => verdict === 'allow')
  return { verdict: rule?.verdict ?? 'allow', rule: rule?.name ?? null }
}

describe('the decision of a policy', () => {
  test('without a matching rule the permission record decides alone', () => {
    expect(createDecideEffect([])(anEffect())).toEqual({
      verdict: 'allow',
      rule: null,
      line: null,
      reason: 'no rule of config/policy.yaml matches, so the permission record decides alone',
    })
    expect(decided([{ match: { agent: ['other'] } }])).toBe('allow')
  })

  test('deny comes before ask, and ask before allow, whatever their order', () => {
    expect(decided([{ verdict: 'allow' }, { verdict: 'ask' }, { verdict: 'deny' }])).toBe('deny by r2')
    expect(decided([{ verdict: 'allow' }, { verdict: 'ask' }])).toBe('ask by r1')
    expect(decided([{ verdict: 'allow' }])).toBe('allow by r0')
  })

  test('of two rules with one verdict, the first of the file is named', () => {
    expect(decided([{ match: { tool: ['http_request'] } }, { match: { host: ['api.example.org'] } }])).toBe(
      'deny by r0',
    )
    expect(decided([{ match: { host: ['*.example.org'] } }, { match: { host: ['api.example.org'] } }])).toBe(
      'deny by r0',
    )
    expect(decided([{ match: { agent: ['*'] } }, { match: { host: ['api.example.org'] } }])).toBe(
      'deny by r0',
    )
  })

  test('a decision says the reason of its rule and its line', () => {
    const decide = createDecideEffect(rulesOf([{ reason: 'No writes on Fridays.' }]))
    expect(decide(anEffect())).toEqual({
      verdict: 'deny',
      rule: 'r0',
      line: 1,
      reason: 'No writes on Fridays.',
    })
    expect(createDecideEffect(rulesOf([{}]))(anEffect()).reason).toBe('the rule r0 matches')
  })

  test('an allow rule takes back the ask rules that it names, and no others', () => {
    const asks: Part = { verdict: 'ask' }
    expect(decided([asks, { verdict: 'allow', excepts: ['r0'] }])).toBe('allow by r1')
    expect(decided([asks, { verdict: 'allow' }])).toBe('ask by r0')
    expect(decided([asks, asks, { verdict: 'allow', excepts: ['r0'] }])).toBe('ask by r1')
    expect(decided([asks, { verdict: 'allow', excepts: ['r0'], match: { agent: ['other'] } }])).toBe(
      'ask by r0',
    )
    expect(decided([{}, { verdict: 'allow', excepts: ['r0'] }])).toBe('deny by r0')
    expect(decided([asks, { verdict: 'allow' }, { verdict: 'allow', excepts: ['r0'] }])).toBe('allow by r2')
  })

  test('an exception whose rule does not ask is an allowing rule like any other', () => {
    const parts: readonly Part[] = [
      { verdict: 'allow' },
      { verdict: 'ask', match: { agent: ['other'] } },
      { verdict: 'allow', excepts: ['r1'] },
    ]
    expect(decided(parts)).toBe('allow by r0')
  })

  test.each<[readonly Part[], string]>([
    [[], 'allow by more'],
    [[{ verdict: 'allow' }], 'allow by r0'],
    [[{ verdict: 'ask' }], 'ask by r0'],
    [[{ verdict: 'deny' }], 'deny by r0'],
  ])('a further rule that excepts nothing counts as the last of %j', (parts, expected) => {
    const rules = rulesOf([...parts, { name: 'more', verdict: 'allow' }])
    const more = rules.at(-1) ?? null
    const { verdict, rule } = createDecideAsked(rules.slice(0, -1))(askedEffect(anEffect()), more)
    expect(`${verdict} by ${rule}`).toBe(expected)
    const other = rulesOf([{ name: 'more', verdict: 'allow', match: { agent: ['other'] } }])[0] ?? null
    const without = createDecideAsked(rules.slice(0, -1))(askedEffect(anEffect()), other)
    expect(without).toEqual(createDecideEffect(rules.slice(0, -1))(anEffect()))
  })

  test('a decision tests each rule once that no other rule excludes', () => {
    const tested: string[] = []
    const verdicts = ['deny', 'ask', 'allow'] as const
    const rules = rulesOf(verdicts.map((verdict) => ({ verdict, match: { agent: ['[o]*'] } }))).map(
      (rule): PolicyRule => ({
        ...rule,
        matches: (asked) => {
          tested.push(rule.name)
          return rule.matches(asked)
        },
      }),
    )
    createDecideEffect(rules)(anEffect())
    expect(tested).toEqual(['r0', 'r1', 'r2'])
  })

  test('excepts is refused on a rule that does not allow', () => {
    const rule = { name: 'a', match: { agent: ['*'] }, verdict: 'ask', reason: '', excepts: ['b'] } as const
    expect(compileRule(rule, { line: 1, order: 0 })).toEqual({
      fault: 'the rule a has excepts, which only a rule with the verdict allow may have',
    })
  })
})

describe('the fields of a match', () => {
  test.each<[Match, Partial<Effect>, boolean]>([
    [{ agent: ['sc*'] }, {}, true],
    [{ agent: ['SCOUT'] }, {}, true],
    [{ agent: ['w*', 'scout'] }, {}, true],
    [{ agent: ['w*'] }, {}, false],
    [{ tool: ['http_request'] }, {}, true],
    [{ tool: ['HTTP_request'] }, {}, true],
    [{ tool: ['http_*'] }, {}, true],
    [{ tool: ['notify_user'] }, {}, false],
    [{ method: ['POST', 'get'] }, {}, true],
    [{ method: ['POST'] }, {}, false],
    [{ host: ['API.example.org.'] }, {}, true],
    [{ host: ['*.example.org'] }, {}, true],
    [{ host: ['*.example.org'] }, { host: 'example.org' }, false],
    [{ host: ['*.example.org'] }, { host: 'badexample.org' }, false],
    [{ host: ['*.example.org'] }, { host: 'a.b.example.org' }, true],
    [{ host: ['*'] }, {}, true],
    [{ host: ['[::1]'] }, { host: '::1' }, true],
    [{ host: ['example.org'] }, {}, false],
    [{ path: ['/v1/*'] }, {}, true],
    [{ path: ['/v2/*', '/v1/items'] }, {}, true],
    [{ path: ['/v1/*'] }, { path: '/v1/items/7' }, false],
    [{ path: ['/v1/**'] }, { path: '/v1/items/7' }, true],
    [{ path: ['**/git-receive-pack'] }, { path: '/a/b.git/git-receive-pack' }, true],
    [{ path: ['**/git-receive-pack'] }, { path: '/a/b.git/git-upload-pack' }, false],
    [{ project: ['site'] }, { project: 'site' }, true],
    [{ project: ['*'] }, {}, false],
    [{ mcp_server: ['crm'], mcp_tool: ['delete_*'] }, { mcpServer: 'crm', mcpTool: 'Delete_x' }, true],
    [{ mcp_tool: ['*'] }, { mcpServer: 'crm', mcpTool: '.hidden/a' }, true],
    [{ mcp_tool: ['*'] }, { mcpServer: 'crm' }, false],
    [{ credential: ['stripe_*'] }, { credentials: ['GITHUB', 'STRIPE_KEY'] }, true],
    [{ credential: ['*'] }, {}, false],
    [{ chain: ['base'] }, { chain: 'base' }, true],
    [{ usd_above: 10 }, { usd: 10 }, false],
    [{ usd_above: 10 }, { usd: 10.01 }, true],
    [{ usd_above: 0 }, {}, false],
    [{ origin: ['webhook', 'watcher'] }, { origins: ['agent', 'webhook'] }, true],
    [{ origin: ['webhook'] }, {}, false],
    [{ channel: ['telegram', 'slack'] }, { channels: ['agent', 'telegram'] }, true],
    [{ channel: ['telegram'] }, { channels: ['cli'] }, false],
    [{ agent: ['scout'], host: ['example.org'] }, {}, false],
  ])('%j matches an effect with %j: %s', (match, more, isMatch) => {
    expect(decided([{ match }], anEffect(more))).toBe(isMatch ? 'deny by r0' : 'allow')
    expect(decided([{ match, verdict: 'allow' }], anEffect(more))).toBe(isMatch ? 'allow by r0' : 'allow')
  })

  test.each<[Match, Partial<Effect>]>([
    [{ host: ['api.example.org'], path: ['/v1/items'] }, { path: null }],
    [{ method: ['POST'] }, { method: null }],
    [
      { mcp_server: ['crm'], mcp_tool: ['x'] },
      { mcpServer: 'crm', mcpTool: null },
    ],
    [{ usd_above: 1e6 }, { usd: null }],
    [{ origin: ['webhook'] }, { origins: null }],
    [{ channel: ['slack'] }, { channels: null }],
  ])('%j: a hidden value is denied and asked for, and not allowed', (match, more) => {
    expect(decided([{ match }], anEffect(more))).toBe('deny by r0')
    expect(decided([{ match, verdict: 'ask' }], anEffect(more))).toBe('ask by r0')
    expect(decided([{ match, verdict: 'allow' }], anEffect(more))).toBe('allow')
  })

  test.each([
    ['/admin//users'],
    ['/admin/%75sers'],
    ['/%61dmin/users'],
    ['//admin/users'],
    ['/admin%2Fusers'],
    ['/x/%2e%2e/admin/users'],
    ['/admin\\users'],
    ['/%ff/../admin/users'],
    ['/admin/users/'],
    ['/admin/users///'],
    ['/admin/users%2F'],
    ['/x/../admin/users/'],
  ])('the spelling %s passes no rule about /admin/users', (path) => {
    const match = { path: ['/admin/users'] }
    expect(decided([{ match }], anEffect({ path }))).toBe('deny by r0')
    expect(decided([{ match, verdict: 'allow' }], anEffect({ path }))).toBe('allow')
  })

  test.each([['/ADMIN/users'], ['/Admin/users/'], ['/%41DMIN/users']])(
    'the spelling %s passes no condition about /admin/users',
    (path) => {
      for (const when of [
        'path.startsWith("/admin/")',
        'path == "/admin/users"',
        'path.endsWith("/users")',
      ]) {
        expect(decided([{ when, match: {} }], anEffect({ path }))).toBe('deny by r0')
        expect(decided([{ when, match: {}, verdict: 'ask' }], anEffect({ path }))).toBe('ask by r0')
      }
      expect(decided([{ when: 'path == "/admin/users"', verdict: 'allow' }], anEffect({ path }))).toBe(
        'allow',
      )
    },
  )

  test('a rule that allows may name a path that ends with a slash', () => {
    const rules = [
      { match: { host: ['*'] }, verdict: 'ask' as const },
      { match: { path: ['/simple/*/'] }, verdict: 'allow' as const, excepts: ['r0'] },
    ]
    expect(decided(rules, anEffect({ path: '/simple/x/' }))).toBe('allow by r1')
  })

  test('a condition must hold as well as the match', () => {
    const when = 'method == "POST" && usd > 5.0'
    expect(decided([{ when }], anEffect({ method: 'POST', usd: 6 }))).toBe('deny by r0')
    expect(decided([{ when }], anEffect({ method: 'POST', usd: 5 }))).toBe('allow')
    expect(decided([{ when, match: { agent: ['other'] } }], anEffect({ method: 'POST', usd: 6 }))).toBe(
      'allow',
    )
  })

  test('a condition on a value that does not apply does not hold, and on a hidden one it is strict', () => {
    const when = 'usd > 5.0'
    expect(decided([{ when }])).toBe('allow')
    expect(decided([{ when }], anEffect({ usd: null }))).toBe('deny by r0')
    expect(decided([{ when, verdict: 'allow' }], anEffect({ usd: null }))).toBe('allow')
  })

  test('a condition with a hidden value decides against the effect, whatever its other parts are', () => {
    const hidden = anEffect({ usd: null })
    expect(decided([{ when: 'usd > 5.0 && method == "POST"' }], hidden)).toBe('deny by r0')
    expect(decided([{ when: 'usd > 5.0 || method == "GET"', verdict: 'allow' }], hidden)).toBe('allow')
    expect(decided([{ when: '"path" == "path"' }], anEffect({ path: '/x' }))).toBe('deny by r0')
  })

  test.each<[Match, Partial<Effect>, string]>([
    [{ host: ['api.example.org'] }, {}, 'allow'],
    [{ host: ['api.example.org'], method: ['*'] }, {}, 'allow'],
    [{ method: ['GET', 'WEBSOCKET'] }, {}, 'allow by r0'],
    [{ method: ['websocket'] }, {}, 'allow by r0'],
    [{ method: ['WEBSOCKET'] }, { method: 'GET' }, 'allow'],
    [{ method: ['GET'] }, { method: 'GET' }, 'allow by r0'],
  ])('a WebSocket is allowed by no rule but one that names the method: %j', (match, more, expected) => {
    const effect = anEffect({ method: 'WEBSOCKET', ...more })
    expect(decided([{ match, verdict: 'allow' }], effect)).toBe(expected)
  })

  test('several rules about WebSockets of one host are found', () => {
    const match: Match = { host: ['api.example.org'], method: ['WEBSOCKET'] }
    const parts = ['other', 'scout', 'scout'].map((name): Part => ({
      match: { ...match, agent: [name] },
      verdict: 'allow',
    }))
    expect(decided(parts, anEffect({ method: 'WEBSOCKET' }))).toBe('allow by r1')
  })

  test('a WebSocket is denied and asked for by any rule about it', () => {
    const effect = anEffect({ method: 'WEBSOCKET' })
    for (const match of [{ host: ['api.example.org'] }, { method: ['WEBSOCKET'] }]) {
      expect(decided([{ match }], effect)).toBe('deny by r0')
      expect(decided([{ match, verdict: 'ask' }], effect)).toBe('ask by r0')
    }
    expect(decided([{ match: { method: ['GET'] } }], effect)).toBe('allow')
  })

  test.each([[['/a', '/ΑΣ*']], [['/ΑΣ*']]])(
    '%j denies a path whose lower case depends on what follows',
    (path) => {
      expect(decided([{ match: { path } }], anEffect({ path: '/ΑΣΑ' }))).toBe('deny by r0')
      expect(decided([{ match: { path } }], anEffect({ path: '/x/../ΑΣΑ' }))).toBe('deny by r0')
      expect(decided([{ match: { path } }], anEffect({ path: '/ασα' }))).toBe('allow')
    },
  )

  test('a condition on the path is tested with each of its readings', () => {
    const when = 'path.startsWith("/admin")'
    expect(decided([{ when }], anEffect({ path: '/%61dmin' }))).toBe('deny by r0')
    expect(decided([{ when, verdict: 'allow' }], anEffect({ path: '/%61dmin' }))).toBe('allow')
    expect(decided([{ when, verdict: 'allow' }], anEffect({ path: '/admin' }))).toBe('allow by r0')
    expect(decided([{ when }], anEffect({ path: '/other' }))).toBe('allow')
  })
})

describe('an effect with a value that no rule can be tested with', () => {
  const obscure = '/a//%2561;v=1/%25252e%25252e/b//%252e%252e;w/..'

  test.each<[string, Part]>([
    ['a path', { match: { path: ['/other'] } }],
    ['a condition', { when: 'path == "/other"' }],
  ])('is decided against by %s if the path has too many readings', (_what, part) => {
    const effect = anEffect({ path: obscure })
    expect(decided([part], effect)).toBe('deny by r0')
    expect(decided([{ ...part, verdict: 'allow' }], effect)).toBe('allow')
    expect(decided([part], anEffect({ path: '/a;v=1//%62/../c' }))).toBe('allow')
  })

  test('is decided against by each rule about an amount that is no number', () => {
    const effect = anEffect({ usd: Number.NaN })
    for (const when of ['usd > 1.0', '!(usd <= 1.0)', 'usd == 1.0'])
      for (const count of [1, 20])
        expect(
          decided(
            Array.from({ length: count }, () => ({ when })),
            effect,
          ),
        ).toBe('deny by r0')
    expect(decided([{ match: { usd_above: 1 } }], effect)).toBe('deny by r0')
    expect(decided([{ when: 'usd < 1.0', verdict: 'allow' }], effect)).toBe('allow')
  })

  test('keeps its other values, and reads no origins that no rule asks for', () => {
    const effect = Object.defineProperty(anEffect({ path: obscure, usd: Number.NaN }), 'origins', {
      get: () => expect.fail('the origins were read'),
    })
    expect(decided([{ match: { host: ['api.example.org'], path: ['/x'], agent: ['scout'] } }], effect)).toBe(
      'deny by r0',
    )
  })
})

describe('the index of rules', () => {
  const word = fc.constantFrom('a', 'b', 'c')
  const host = fc.constantFrom('a.test', 'b.test', 'x.a.test', 'y.x.a.test', 'test')
  const hostEntry = fc.constantFrom('a.test', 'A.test.', '*.a.test', '*.test', '*', 'x.a.test')
  const some = <T>(of: fc.Arbitrary<T>) => fc.array(of, { minLength: 1, maxLength: 3 })
  const optional = <T>(key: string, of: fc.Arbitrary<T>) =>
    fc.option(
      of.map((value) => ({ [key]: value })),
      { nil: {} },
    )
  const part = fc
    .record({
      match: fc
        .tuple(
          optional('host', some(hostEntry)),
          optional('tool', some(fc.constantFrom('a', 'B', '*', 'a*', 'c'))),
          optional('method', some(fc.constantFrom('GET', 'POST'))),
          optional('path', some(fc.constantFrom('/a', '/*', '/a/**'))),
        )
        .map((fields): Match => ({ agent: ['*'], ...Object.assign({}, ...fields) })),
      verdict: fc.constantFrom('allow', 'ask', 'deny'),
      excepts: fc.option(some(fc.constantFrom('r0', 'r1', 'r2', 'r3')), { nil: undefined }),
    })
    .map(({ match, verdict, excepts }): Part =>
      verdict === 'allow' && excepts ? { match, verdict, excepts } : { match, verdict },
    )
  const effect = fc.record(
    {
      host,
      tool: fc.constantFrom('a', 'b', 'c', 'ab'),
      method: fc.constantFrom('GET', 'POST', null),
      path: fc.constantFrom('/a', '/a/b', '/%61', null),
      agent: word,
    },
    { requiredKeys: ['agent', 'tool'] },
  )

  test.each([
    ['**.git', '/team/site.git'],
    ['**.git', '/site.GIT'],
    ['*', '*'],
    ['**.git/info/refs', '/team/site.git/info/refs'],
    ['**/refs', 'refs'],
    ['**', '/'],
    ['/a/**/', '/a/b/'],
    ['/a/**/b', '/a/b'],
    ['/a*', '/ab'],
  ])('finds the rule about the path %s for %s', (pattern, path) => {
    // Further rules make each field that finds a rule a possible choice.
    const others = ['/x/y', '**/z', '/x'].map((one): Part => ({ match: { path: [one] } }))
    const parts: readonly Part[] = [...others, { match: { path: [pattern] } }]
    expect(decided(parts, anEffect({ path }))).toBe('deny by r3')
  })

  test('decides like a loop over all rules', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), effect, (parts, given) => {
        const rules = rulesOf(parts)
        const { verdict, rule } = createDecideEffect(rules)(given)
        expect({ verdict, rule }).toEqual(decidePlainly(rules, given))
      }),
      { numRuns: 2000 },
    )
  })

  const piece = fc.constantFrom('/', '/', '*', '**', 'a', 'b', 'A', '.git', '%2F', ';v=1', '..')
  const pieces = (of: fc.Arbitrary<string>) => fc.array(of, { maxLength: 7 }).map((all) => all.join(''))
  const pathPattern = fc
    .tuple(fc.constantFrom('/', '*', '**', '**/'), pieces(piece))
    .map((all) => all.join(''))
  const path = pieces(piece.filter((text) => !text.includes('*'))).map((rest) => `/${rest}`)
  const names = (...given: readonly string[]) => some(fc.constantFrom(...given))
  /** Conditions whose comparisons rules are found by, with others that decide by being hidden. */
  const comparison = fc.constantFrom(
    'path.startsWith("/a/")',
    'path.startsWith("/a")',
    'path.endsWith("/b")',
    'path.endsWith("b")',
    'path == "/a/b"',
    '"/a" == path',
    'path in ["/a", "/b/a"]',
    'path.contains("a")',
    'path.contains("A")',
    'path.lowerAscii().contains("b")',
    'path.lowerAscii() == "/a/b"',
    '(path.contains("b") || path.endsWith("a"))',
    '(method == "GET" ? path.contains("b") : false)',
    '(path.contains("a") ? path.startsWith("/b") : path.endsWith("b"))',
    '!path.contains("a")',
    'host.endsWith(".test")',
    'mcp_tool.contains("t")',
    'mcp_server.lowerAscii() == "mm"',
    'method == "GET"',
    'method in ["GET", "POST"]',
    'method != "GET"',
    'agent == "a"',
    'agent == "A"',
    'project == "p"',
    'host == "a.test"',
    'mcp_server == "m"',
    'chain in ["base"]',
    'tool == "http_request"',
    '"k" in credentials',
    'usd > 1.0',
    ...[0, 1, 2].flatMap((limit) => [`usd >= ${limit}.0`, `usd < ${limit}.0`, `!(${limit}.0 < usd)`]),
    ...[2, 4, 6].flatMap((limit) => [`path.size() > ${limit}`, `!(path.size() >= ${limit})`]),
    '(usd > 1.0 || path == "/a/b")',
    '(path.contains(agent) || host == "b.test")',
    '((usd <= 1.0 && method == "GET") || mcp_tool == "t" || host == "a.test")',
    '(path == "/a" || !(usd < 2.0))',
    'mcp_tool == "t"',
    'origins == ["human"]',
    '"telegram" in channels',
    '!(method == "GET")',
    '(method == "GET" || path == "/a")',
  )
  const condition = fc.array(comparison, { minLength: 1, maxLength: 3 }).map((all) => all.join(' && '))
  /** Rules with each indexed field, by names, patterns and both. */
  const anyPart = fc
    .tuple(
      optional('path', some(pathPattern)),
      optional('agent', names('a', 'B', 'a*', '[ab]', '*')),
      optional('project', names('p', 'Q', '?')),
      optional('mcp_server', names('m', 'N', 'm*')),
      optional('credential', names('k', 'L', 'k?')),
      optional('chain', names('base', 'Solana', '*')),
      optional('host', some(hostEntry)),
      optional('when', condition),
      fc.constantFrom('allow', 'ask', 'deny'),
    )
    .map(([path, agent, project, server, credential, chain, host, when, verdict]): Part => ({
      match: { tool: ['*'], ...path, ...agent, ...project, ...server, ...credential, ...chain, ...host },
      ...when,
      verdict,
    }))
  const anyEffect = fc.record(
    {
      path: fc.option(path, { nil: null }),
      agent: fc.constantFrom('a', 'b', 'AB'),
      tool: fc.constant('http_request'),
      project: fc.constantFrom('p', 'q'),
      mcpServer: fc.constantFrom('m', 'n', 'MM'),
      credentials: fc.uniqueArray(fc.constantFrom('k', 'L', 'kk'), { maxLength: 2 }),
      chain: fc.constantFrom('base', 'solana'),
      host,
      method: fc.constantFrom('GET', 'POST', null),
      mcpTool: fc.constantFrom('t', null),
      usd: fc.constantFrom(1, 2, null),
      origins: fc.constantFrom(['human'], ['webhook'], null),
      channels: fc.constantFrom(['cli'], ['telegram', 'agent'], null),
    },
    { requiredKeys: ['agent', 'tool'] },
  )

  test('loses no rule, whatever the shape of its path and of its other fields', () => {
    fc.assert(
      fc.property(fc.array(anyPart, { maxLength: 12 }), anyEffect, (parts, given) => {
        const rules = rulesOf(parts)
        const { verdict, rule } = createDecideEffect(rules)(given)
        expect({ verdict, rule }).toEqual(decidePlainly(rules, given))
      }),
      { numRuns: 3000 },
    )
  })

  test('loses no rule with a condition alone', () => {
    const parts = fc.array(fc.record({ when: condition, verdict: fc.constantFrom('deny', 'allow') }), {
      maxLength: 30,
    })
    const simplePath = fc.constantFrom('/a', '/a/b', '/b/a', '/A/b', '/%61/b', '/a//b', '/', null)
    fc.assert(
      fc.property(parts, anyEffect, simplePath, (given, more, path) => {
        const rules = rulesOf(given)
        const asked = { ...more, path }
        const { verdict, rule } = createDecideEffect(rules)(asked)
        expect({ verdict, rule }).toEqual(decidePlainly(rules, asked))
      }),
      { numRuns: 3000 },
    )
  })

  test('loses no rule about a path that it is derived from', () => {
    // A path that a pattern matches is rare among random ones, so the stars of the pattern are replaced by text.
    const filled = fc
      .tuple(pathPattern, pieces(fc.constantFrom('a', 'b', '/', 'x.')))
      .map(([pattern, text]) => ({
        pattern,
        path: pattern.replaceAll(/\*+\/?/g, (stars) =>
          stars.endsWith('/') ? `${text}/` : text.replaceAll('/', ''),
        ),
      }))
    fc.assert(
      fc.property(filled, fc.array(pathPattern, { maxLength: 8 }), (one, others) => {
        const parts = [...others, one.pattern].map((pattern): Part => ({ match: { path: [pattern] } }))
        const rules = rulesOf(parts)
        const given = anEffect({ path: one.path })
        const { verdict, rule } = createDecideEffect(rules)(given)
        expect({ verdict, rule }).toEqual(decidePlainly(rules, given))
      }),
      { numRuns: 3000 },
    )
  })
})
