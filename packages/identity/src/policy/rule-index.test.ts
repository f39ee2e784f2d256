import { describe, expect, test } from 'vitest'
import { askedEffect, compileRule, createSharing } from './compile-rule.ts'
import type { PolicyRule, RuleSharing } from './compile-rule.ts'
import type { Effect } from './effect.ts'
import type { Match, WrittenRule } from './policy-schema.ts'
import { createRuleIndex } from './rule-index.ts'

type Part = Partial<Omit<WrittenRule, 'match'>> & { readonly match?: Match }

/** Rules that share nothing, unless they are given what to share by. */
function rulesOf(parts: readonly Part[], sharing?: RuleSharing): readonly PolicyRule[] {
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

const full: Effect = {
  agent: 'scout',
  tool: 'http_request',
  method: 'GET',
  host: 'api.example.org',
  path: '/v1/items/list',
  project: 'site',
  mcpServer: 'crm',
  mcpTool: 'list',
  chain: 'base',
  credentials: ['github'],
  origins: ['human'],
}
const count = 40

/** An index of many rules that counts how many of them are tested. */
function indexOf(partOf: (at: number) => Part, sharing?: RuleSharing) {
  const tested: string[] = []
  const rules = rulesOf(
    Array.from({ length: count }, (_none, at) => partOf(at)),
    sharing,
  ).map((rule): PolicyRule => ({
    ...rule,
    matches: (asked) => {
      tested.push(rule.name)
      return rule.matches(asked)
    },
  }))
  return { index: createRuleIndex(rules), tested }
}

describe('the index of rules', () => {
  test.each<[string, (at: number) => Part, Partial<Effect>]>([
    ['host', (at) => ({ match: { host: [`h${at}.test`, `*.g${at}.test`] } }), { host: 'h7.test' }],
    ['domain', (at) => ({ match: { host: [`h${at}.test`, `*.g${at}.test`] } }), { host: 'a.b.g7.test' }],
    ['server', (at) => ({ match: { mcp_server: [`Server${at}`] } }), { mcpServer: 'server7' }],
    ['credential', (at) => ({ match: { credential: [`Key${at}`] } }), { credentials: ['other', 'KEY7'] }],
    ['chain', (at) => ({ match: { chain: [`chain${at}`] } }), { chain: 'Chain7' }],
    ['beginning of the path', (at) => ({ match: { path: [`/Area${at}/**`] } }), { path: '/area7/x' }],
    ['end of the path', (at) => ({ match: { path: [`**/Name${at}`] } }), { path: '/x/name7' }],
    ['project', (at) => ({ match: { project: [`Project${at}`] } }), { project: 'PROJECT7' }],
    ['agent', (at) => ({ match: { agent: [`Agent${at}`] } }), { agent: 'agent7' }],
    ['tool', (at) => ({ match: { tool: [`Tool${at}`] } }), { tool: 'tool7' }],
    ['part of a server', (at) => ({ match: { mcp_server: [`*S${at}.*`] } }), { mcpServer: 'as7.b' }],
    ['tool of a server', (at) => ({ match: { mcp_tool: [`T${at}`] } }), { mcpTool: 't7' }],
    ['part of a tool of a server', (at) => ({ match: { mcp_tool: [`?T${at}_*`] } }), { mcpTool: 'at7_x' }],
    [
      'part of a credential',
      (at) => ({ match: { credential: [`key_${at}_*`] } }),
      { credentials: ['x', 'KEY_7_A'] },
    ],
    ['part of a chain', (at) => ({ match: { chain: [`c${at}.*`] } }), { chain: 'c7.x' }],
    ['part of a project', (at) => ({ match: { project: [`*p${at}.*`] } }), { project: 'ap7.b' }],
    ['part of an agent', (at) => ({ match: { agent: [`team-${at}-*`] } }), { agent: 'team-7-x' }],
    [
      'part of an agent before a set',
      (at) => ({ match: { agent: [`team-${at}-[xy]`] } }),
      { agent: 'team-7-x' },
    ],
    ['part of a tool', (at) => ({ match: { tool: [`T${at}_*`] } }), { tool: 't7_x' }],
    ['part of a path', (at) => ({ match: { path: [`/v*/X${at}-*`] } }), { path: '/v1/x7-y' }],
    [
      'part of a path after stars with a slash',
      (at) => ({ match: { path: [`/**/area${at}.x*`] } }),
      { path: '/area7.xy' },
    ],
    [
      'rarer of two fields',
      (at) => ({ match: { tool: ['http_request'], chain: [`chain${at}`] } }),
      { chain: 'chain7' },
    ],
    [
      'field without a common value',
      (at) => ({ match: { host: ['api.example.org', `h${at}.test`], chain: [`chain${at}`] } }),
      { chain: 'chain7' },
    ],
    ['condition on the host', (at) => ({ when: `host == "h${at}.test"` }), { host: 'h7.test' }],
    ['condition with the value first', (at) => ({ when: `"h${at}.test" == host` }), { host: 'h7.test' }],
    [
      'condition on one of several hosts',
      (at) => ({ when: `host in ["h${at}.test", "g${at}.test"]` }),
      { host: 'g7.test' },
    ],
    ['condition on a server', (at) => ({ when: `mcp_server == "s${at}"` }), { mcpServer: 's7' }],
    ['condition on a tool of a server', (at) => ({ when: `mcp_tool == "t${at}"` }), { mcpTool: 't7' }],
    [
      'condition on a part of a tool of a server',
      (at) => ({ when: `mcp_tool.startsWith("t${at}.")` }),
      { mcpTool: 't7.x' },
    ],
    ['condition on a chain', (at) => ({ when: `chain == "c${at}"` }), { chain: 'c7' }],
    ['condition on a project', (at) => ({ when: `project == "p${at}"` }), { project: 'p7' }],
    ['condition on an agent', (at) => ({ when: `agent == "a${at}"` }), { agent: 'a7' }],
    ['condition on a tool', (at) => ({ when: `tool == "t${at}"` }), { tool: 't7' }],
    ['condition on a method', (at) => ({ when: `method == "M${at}"` }), { method: 'M7' }],
    [
      'condition on a credential',
      (at) => ({ when: `"K${at}" in credentials` }),
      { credentials: ['x', 'K7'] },
    ],
    ['condition on the path', (at) => ({ when: `path == "/x${at}"` }), { path: '/x7' }],
    [
      'condition on the beginning of the path',
      (at) => ({ when: `path.startsWith("/x${at}/")` }),
      { path: '/x7/y' },
    ],
    ['condition on the end of the path', (at) => ({ when: `path.endsWith("/x${at}")` }), { path: '/y/x7' }],
    ['condition on a part of the path', (at) => ({ when: `path.contains("x${at}.")` }), { path: '/y/x7.z' }],
    [
      'condition in lower case',
      (at) => ({ when: `path.lowerAscii().contains("x${at}.")` }),
      { path: '/y/X7.z' },
    ],
    [
      'condition on a value in lower case',
      (at) => ({ when: `path.lowerAscii() == "/x${at}"` }),
      { path: '/X7' },
    ],
    [
      'condition on a part of the host',
      (at) => ({ when: `host.endsWith(".h${at}.test")` }),
      { host: 'a.h7.test' },
    ],
    ['condition on parts of an agent', (at) => ({ when: `agent.contains("X${at}.")` }), { agent: 'aX7.' }],
    [
      'condition on a part of a server',
      (at) => ({ when: `mcp_server.contains("X${at}.")` }),
      { mcpServer: 'aX7.' },
    ],
    ['condition on a part of a chain', (at) => ({ when: `chain.contains("X${at}.")` }), { chain: 'aX7.' }],
    [
      'condition on a part of a project',
      (at) => ({ when: `project.contains("X${at}.")` }),
      { project: 'aX7.' },
    ],
    ['condition on a part of a tool', (at) => ({ when: `tool.contains("X${at}.")` }), { tool: 'aX7.' }],
    ['condition on a part of a method', (at) => ({ when: `method.contains("X${at}.")` }), { method: 'AX7.' }],
    [
      'rarer of three parts',
      (at) => ({ when: `path.contains("/") && path.contains("/x${at}.") && path.contains("v")` }),
      { path: '/v/x7.' },
    ],
    [
      'longest part, the last',
      (at) => ({ when: `path.contains("/") && path.contains("v") && path.contains("/x${at}.")` }),
      { path: '/v/x7.' },
    ],
    [
      'part that all of its choices share least',
      (at) => ({ when: `(path.contains("v") || path.contains("/long${at}.")) && path.contains("x${at}.")` }),
      { path: '/v/x7.' },
    ],
    [
      'condition with two choices',
      (at) => ({ when: `path.contains("x${at}.") || path.contains("y${at}.")` }),
      { path: '/y7.' },
    ],
    [
      'condition with a choice by another',
      (at) => ({ when: `method == "GET" ? path.contains("x${at}.") : false` }),
      { path: '/x7.' },
    ],
    [
      'condition with a choice of two parts',
      (at) => ({ when: `host == "a.test" ? path.contains("x${at}.") : path.contains("y${at}.")` }),
      { path: '/y7.' },
    ],
    [
      'condition that others narrow',
      (at) => ({ match: { agent: ['*'] }, when: `method == "GET" && host == "h${at}"` }),
      { host: 'h7' },
    ],
  ])('by the %s tests the rules alone that it may mean', (_what, partOf, more) => {
    const { index, tested } = indexOf(partOf)
    expect(index.first(askedEffect(full))).toBe(null)
    expect(index.all(askedEffect(full))).toEqual([])
    expect(tested).toEqual([])
    const matching = askedEffect({ ...full, ...more })
    expect(index.first(matching)?.name).toBe('r7')
    expect(index.all(matching).map(({ name }) => name)).toEqual(['r7'])
    expect(new Set(tested)).toEqual(new Set(['r7']))
  })

  test.each<[Match, Partial<Effect>]>([
    [{ mcp_server: ['n#'] }, { mcpServer: 'n17' }],
    [{ credential: ['n#'] }, { credentials: ['n17'] }],
    [{ chain: ['n#'] }, { chain: 'n17' }],
    [{ project: ['n#'] }, { project: 'n17' }],
    [{ agent: ['n#'] }, { agent: 'n17' }],
    [{ tool: ['n#'] }, { tool: 'n17' }],
    [{ path: ['**/n#'] }, { path: '/x/n17' }],
  ])('by the whole name in %j tests no rule about a part of the name', (match, more) => {
    const numbered = (at: number): Match => JSON.parse(JSON.stringify(match).replace('#', `${at}`)) as Match
    const { index, tested } = indexOf((at) => ({ match: numbered(at) }))
    expect(index.first(askedEffect({ ...full, ...more }))?.name).toBe('r17')
    expect(tested).toEqual(['r17'])
  })

  test('finds rules whose set of characters is longer than the text around it', () => {
    const index = createRuleIndex(rulesOf([{ match: { tool: ['ab[cdefghij]kl'] } }]))
    expect(index.first(askedEffect({ ...full, tool: 'abdkl' }))?.name).toBe('r0')
  })

  test.each<[string, (at: number) => Part, Partial<Effect>]>([
    ['condition on a server', (at) => ({ when: `mcp_server == "s${at}"` }), { mcpTool: null }],
    ['part of an absent host', (at) => ({ when: `host.contains("s${at}")` }), { host: undefined as never }],
    ['absent host', (at) => ({ match: { host: [`h${at}.test`] } }), { host: undefined as never }],
  ])('by a %s tests no rule', (_what, partOf, more) => {
    const { index, tested } = indexOf(partOf)
    expect(index.first(askedEffect({ ...full, ...more }))).toBe(null)
    expect(tested).toEqual([])
  })

  /** Conditions that compare numbers, with the rules whose limits an effect reaches. */
  test.each<[string, (at: number) => string, readonly [Partial<Effect>, readonly number[]]]>([
    ['above', (at) => `usd > ${10 + at}.5`, [{ usd: 13 }, [0, 1, 2]]],
    ['from', (at) => `usd >= ${10 + at}.0`, [{ usd: 13 }, [0, 1, 2, 3]]],
    ['below', (at) => `usd < ${10 + at}.5`, [{ usd: 47 }, [37, 38, 39]]],
    ['up to', (at) => `usd <= ${10 + at}.0`, [{ usd: 47 }, [37, 38, 39]]],
    ['not above', (at) => `!(usd > ${10 + at}.0)`, [{ usd: 47 }, [37, 38, 39]]],
    ['not below', (at) => `!(usd < ${10 + at}.0)`, [{ usd: 13 }, [0, 1, 2, 3]]],
    ['above, the limit first', (at) => `${10 + at}.5 < usd`, [{ usd: 13 }, [0, 1, 2]]],
    ['not above, the limit first', (at) => `!(${10 + at}.0 <= usd)`, [{ usd: 47 }, [38, 39]]],
    ['within two limits', (at) => `usd >= ${at}.0 && usd < ${at + 1}.0`, [{ usd: 3 }, [3]]],
    ['of another number', (at) => `path.size() > ${at}`, [{ path: '/ab' }, [0, 1, 2]]],
    ['of any reading', (at) => `path.size() >= ${at}`, [{ path: '/%61%62' }, [0, 1, 2, 3, 4, 5, 6, 7]]],
    [
      'of the shortest reading',
      (at) => `path.size() <= ${at}`,
      [{ path: `/%61%62${'x'.repeat(33)}` }, [36, 37, 38, 39]],
    ],
  ])('finds the rules with a number %s by one search', (_what, when, [more, expected]) => {
    const { index, tested } = indexOf((at) => ({ when: when(at) }), createSharing())
    const asked = askedEffect({ ...full, ...more })
    expect(index.all(asked).map(({ order }) => order)).toEqual(expected)
    // A limit that is reached may be tested, and for two limits the rules of the rarer one.
    expect(tested.length).toBeLessThanOrEqual(expected.length + 1 + (when(0).includes('&&') ? 3 : 0))
    expect(index.first(asked)?.order).toBe(expected[0])
  })

  test('finds the rules that compare the order of texts', () => {
    const { index } = indexOf((at) => ({ when: `host >= "h${10 + at}"` }), createSharing())
    const asked = askedEffect({ ...full, host: 'h13' })
    expect(index.all(asked).map(({ order }) => order)).toEqual([0, 1, 2, 3])
  })

  test('tests no rule with a number that does not apply, and each of fewer rules', () => {
    const amounts = (at: number) => ({ when: `usd > ${at}.0` })
    const { index, tested } = indexOf(amounts, createSharing())
    expect(index.all(askedEffect(full))).toEqual([])
    expect(tested).toEqual([])
    const few = createRuleIndex(rulesOf([0, 1, 2].map(amounts)))
    expect(few.all(askedEffect({ ...full, usd: 2 })).map(({ order }) => order)).toEqual([0, 1])
  })

  test.each<[string, (at: number) => string, Partial<Effect>]>([
    ['two values', (at) => `path.contains(tool) || path == "/x${at}"`, { path: '/x7' }],
    ['two values behind', (at) => `path == "/x${at}" || path.contains(tool)`, { path: '/x7' }],
    ['an amount of its own', (at) => `usd > ${100 + at}.0 || path == "/x${at}"`, { usd: 3, path: '/x7' }],
    [
      'a frequent text with an amount of its own',
      (at) => `(usd > ${100 + at}.0 && method == "GET") || host == "h${at}"`,
      { usd: 3, host: 'h7' },
    ],
    ['a text beside an amount', (at) => `usd > 5.0 && host == "h${at}"`, { usd: 6, host: 'h7' }],
    [
      'one of three',
      (at) => `"x" in origins || host in ["h${at}"] || usd > ${100 + at}.0`,
      { usd: 3, host: 'h7' },
    ],
  ])('by a choice with %s tests the rules alone that it may mean', (_what, when, more) => {
    const { index, tested } = indexOf((at) => ({ when: when(at) }), createSharing())
    expect(index.first(askedEffect({ ...full, usd: 3 }))).toBe(null)
    expect(tested).toEqual([])
    expect(index.all(askedEffect({ ...full, ...more })).map(({ name }) => name)).toEqual(['r7'])
    expect(tested).toEqual(['r7'])
  })

  test('finds a rule whose part of a choice holds, and a rule that is found by both', () => {
    const { index } = indexOf((at) => ({ when: `usd > ${10 + at}.5 || path == "/x${at}"` }), createSharing())
    const orders = (more: Partial<Effect>) =>
      index.all(askedEffect({ ...full, ...more })).map(({ order }) => order)
    expect(orders({ usd: 13, path: '/x1' })).toEqual([0, 1, 2])
    expect(orders({ usd: 13, path: '/x9' })).toEqual([0, 1, 2, 9])
  })

  test.each<[string, (at: number) => Part, Partial<Effect>]>([
    ['hidden path', () => ({ match: { path: ['/v2/x'] }, verdict: 'allow' }), { path: null }],
    ['hidden end of a path', () => ({ match: { path: ['**/x'] }, verdict: 'allow' }), { path: null }],
    ['hidden method', () => ({ when: 'method == "X"', verdict: 'allow' }), { method: null }],
    ['path that is hidden in a condition', () => ({ when: 'path == "X"', verdict: 'allow' }), { path: null }],
    ['hidden tool of a server', () => ({ when: 'mcp_tool == "t"', verdict: 'allow' }), { mcpTool: null }],
    [
      'hidden part of a tool',
      () => ({ when: 'mcp_tool.contains("t.")', verdict: 'allow' }),
      { mcpTool: null },
    ],
    [
      'hidden amount beside a text',
      () => ({ when: 'usd > 1.0 && path.contains("zz")', verdict: 'allow' }),
      { usd: null },
    ],
    ['hidden amount', (at) => ({ when: `usd > ${at}.0`, verdict: 'allow' }), { usd: null }],
    [
      'hidden origin beside a text',
      () => ({ when: '"x" in origins && host == "zz"', verdict: 'allow' }),
      { origins: null },
    ],
    ...(['contract', 'payees', 'call', 'channels'] as const).map(
      (name): [string, () => Part, Partial<Effect>] => [
        `hidden value of ${name} beside a text`,
        () => ({
          when: `${['payees', 'channels'].includes(name) ? `"x" in ${name}` : `${name} == "x"`} && host == "zz"`,
          verdict: 'allow',
        }),
        { [name]: null },
      ],
    ),
    ['hidden method in no list', () => ({ when: 'method in []', verdict: 'allow' }), { method: null }],
    ['negation', () => ({ when: '!(path.contains("v1"))' }), {}],
    ['part that is no ASCII', () => ({ when: 'path.contains("é")' }), {}],
    ['part that ends with other letters', () => ({ when: 'path.contains("zé")' }), {}],
    ['part that begins with other letters', () => ({ when: 'path.contains("éz")' }), {}],
    ['chosen list', () => ({ when: '"zz" in (method == "GET" ? ["yy"] : credentials)' }), {}],
    ['empty part', () => ({ when: 'path.contains("") && path.size() > 99' }), {}],
    ['empty value in lower case', () => ({ when: 'path.lowerAscii() == ""' }), {}],
    ['choice of different fields', () => ({ when: 'path.contains("x") || host == "x"' }), {}],
    [
      'choice by another of different fields',
      () => ({ when: 'tool == "x" ? path == "x" : host == "x"' }),
      {},
    ],
    ['list with other values', () => ({ when: 'method in ["X", host]' }), {}],
    ['list of another variable', () => ({ when: 'host in credentials' }), {}],
    ['part of a part', () => ({ when: 'path.contains(host)' }), {}],
    ['number', () => ({ when: 'path.size() == 7' }), {}],
    ['unlisted value', () => ({ when: 'method in [] || path == host' }), {}],
    ['pattern of names with a set alone', () => ({ match: { agent: ['[x]*', 'y'] } }), {}],
    ['pattern of names that is no ASCII', () => ({ match: { agent: ['é*'] } }), {}],
    ['pattern of hosts', () => ({ match: { host: ['*', 'x.test'], method: ['X'] } }), {}],
    ['pattern of paths of stars', () => ({ match: { path: ['*y/*', '**/*'], method: ['X'] } }), {}],
    [
      'hidden tool of a server in a pattern',
      () => ({ match: { mcp_tool: ['t*'] }, verdict: 'allow' }),
      { mcpTool: null },
    ],
    ['hidden path of a pattern', () => ({ match: { path: ['/v2*'] }, verdict: 'allow' }), { path: null }],
  ])('by a %s tests each rule', (_what, partOf, more) => {
    const { index, tested } = indexOf(partOf)
    expect(index.first(askedEffect({ ...full, ...more }))).toBe(null)
    expect(tested).toHaveLength(count)
  })

  test.each<[Match, Partial<Effect>]>([
    [{ path: ['/a/**', '**.git'] }, { path: '/team/site.git' }],
    [{ path: ['/a/**', '**.git'] }, { path: '/a/x' }],
    [{ path: ['/a/b', '/c/*'] }, { path: '/c/d' }],
    [{ agent: ['x', 's*'] }, {}],
    [{ host: ['x.test', '*'] }, {}],
  ])('finds the rule with %j, whose other values it could be found by', (match, more) => {
    const rules = rulesOf([{ match: { agent: ['other'] } }, { match }])
    expect(createRuleIndex(rules).first(askedEffect({ ...full, ...more }))?.name).toBe('r1')
  })

  test('finds the first rule of the file, whatever field it is found by', () => {
    const parts: readonly Part[] = [
      { match: { agent: ['scout'] } },
      { match: { host: ['api.example.org'] } },
      { when: 'path.size() > 1' },
      { match: { host: ['api.example.org'] } },
    ]
    for (const order of [parts, parts.toReversed()]) {
      const index = createRuleIndex(rulesOf(order))
      expect(index.first(askedEffect(full))?.name).toBe('r0')
      expect(index.first(askedEffect(full), ({ name }) => name !== 'r0')?.name).toBe('r1')
      expect(index.all(askedEffect(full)).map(({ name }) => name)).toEqual(['r0', 'r1', 'r2', 'r3'])
    }
  })

  test('reads no field of an effect by which no rule is found', () => {
    const { index } = indexOf((at) => ({ match: { host: [`h${at}.test`] } }))
    const foldedPaths = () => expect.fail('the path was read')
    expect(index.first({ ...askedEffect(full), foldedPaths })).toBe(null)
  })

  test('tests no rule behind one that matched', () => {
    const { index, tested } = indexOf(() => ({ match: { host: ['api.example.org'] } }))
    expect(index.first(askedEffect(full))?.name).toBe('r0')
    expect(tested).toEqual(['r0'])
  })
})
