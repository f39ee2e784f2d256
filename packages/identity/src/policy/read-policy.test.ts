import { describe, expect, test } from 'vitest'
import { snapshotOf } from './policy-file.ts'
import { finished } from '../../../foundation/src/intake/index.ts'
import { parsePolicy } from './parse-policy.ts'
import { readPolicySteps } from './read-policy.ts'
import { effectOfCase } from './run-cases.ts'

const faultOf = (text: string) => {
  const reading = finished(readPolicySteps(parsePolicy(text)))
  return reading.ok ? 'valid' : `${reading.line}: ${reading.reason}`
}

const rule = (more = '') => `rules:
  - name: push
    match: { host: github.com, path: '/**/git-receive-pack' }
    verdict: ask
    reason: A push changes the repository.
${more}`

describe('config/policy.yaml', () => {
  test.each(['', '# nothing\n', 'rules: []', rule()])('%j is valid', (text) => {
    expect(faultOf(text)).toBe('valid')
  })

  test('a rule has its line, and its place in the file', () => {
    const reading = finished(
      readPolicySteps(parsePolicy(rule('  - { name: b, match: { agent: [a, b] }, verdict: deny }\n'))),
    )
    expect(reading).toMatchObject({
      ok: true,
      rules: [
        {
          name: 'push',
          line: 2,
          order: 0,
          verdict: 'ask',
          reason: 'A push changes the repository.',
          when: null,
        },
        { name: 'b', line: 6, order: 1, match: { agent: ['a', 'b'] }, reason: '' },
      ],
    })
  })

  test.each([
    ['rule: []', '1: file: "rule" is not a known name here; correct or remove it'],
    [rule('    metod: GET\n'), '6: rules.0.metod: "metod" is not a known name here; correct or remove it'],
    [
      rule('  - { name: b, match: { agent: a, hosst: x }, verdict: deny }\n'),
      '6: rules.1.match.hosst: "hosst" is not a known name here; correct or remove it',
    ],
    [
      'rules:\n  - { name: b, match: {}, verdict: deny }',
      "2: rules.0.match: match must name at least one field; agent: '*' matches everything",
    ],
    [
      'rules:\n  - { name: b, match: { agent: a }, verdict: perhaps }',
      '2: rules.0.verdict: write one of allow, ask, deny',
    ],
    [
      'rules:\n  - { name: B, match: { agent: a }, verdict: deny }',
      '2: rules.0.name: a name has only lower-case letters, digits, . _ and -',
    ],
    [
      'rules:\n  - { name: b, match: { path: admin }, verdict: deny }',
      '2: rules.0.match.path: a path begins with / or *',
    ],
    [
      'rules:\n  - { name: b, match: { host: "a*b" }, verdict: deny }',
      '2: rules.0.match.host: a host, *.domain for every name below a domain, or * is expected',
    ],
    [
      rule('  - { name: push, match: { agent: a }, verdict: deny }\n'),
      '6: the name push is used in line 2 as well; names must differ',
    ],
    [
      'rules:\n\n  - { name: b, match: { agent: a }, when: "host + 1", verdict: deny }',
      '3: when of the rule b: "+" cannot be used in a condition; see the guide page on policy',
    ],
    [
      rule('  - { name: b, match: { agent: a }, verdict: allow, excepts: pull }\n'),
      '6: the rule b excepts pull, which is no rule with the verdict ask',
    ],
    [
      rule(
        '  - { name: b, match: { agent: a }, verdict: allow, excepts: c }\n  - { name: c, match: { agent: a }, verdict: deny }\n',
      ),
      '6: the rule b excepts c, which is no rule with the verdict ask',
    ],
    [
      rule('  - { name: b, match: { agent: a }, verdict: deny, excepts: push }\n'),
      '6: the rule b has excepts, which only a rule with the verdict allow may have',
    ],
    [
      'rules:\n  - preset: mcp\n    reads: [a]\n    hosts: a.test',
      '2: the preset mcp takes server and reads, and no hosts',
    ],
    ['rules:\n  - preset: mcp\n    hosts: a.test', '2: the preset mcp takes server and reads, and no hosts'],
    [
      'rules:\n  - preset: npm\n    server: crm',
      '2: the preset npm takes hosts, and neither server nor reads',
    ],
    [
      'rules:\n  - preset: npm\n    reads: [a]',
      '2: the preset npm takes hosts, and neither server nor reads',
    ],
    [
      'rules:\n  - preset: npm\n  - preset: npm',
      '3: the name npm/writes is used in line 2 as well; names must differ',
    ],
    [
      'rules:\n  - preset: nothing',
      '2: rules.0.preset: write one of git-host, npm, pypi, crates, slack, payments-api, mcp',
    ],
    ['rules: [a', '1: Flow sequence in block collection must be sufficiently indented and end with a ]'],
    [
      `a: &a [1]\nrules: [${'*a,'.repeat(60)}]`,
      '1: Excessive alias count indicates a resource exhaustion attack',
    ],
    ['a'.repeat(300_000), '1: the file is longer than 262144 characters'],
  ])('%j is refused with its line', (text, fault) => {
    expect(faultOf(text)).toBe(fault)
  })

  test('more than 1000 rules are refused', () => {
    const many = (count: number) =>
      `rules:\n${Array.from({ length: count }, (_, at) => `  - { name: r${at}, match: { agent: a }, verdict: deny }`).join('\n')}`
    expect(faultOf(many(1000))).toBe('valid')
    expect(faultOf(many(1001))).toMatch('rules: write at most 1000 entries')
    expect(faultOf(`${many(999)}\n  - preset: npm`)).toBe('1001: the file has more than 1000 rules')
  })

  test('a text of nested lists is refused and exhausts no stack', () => {
    expect(faultOf(`rules: ${'['.repeat(20_000)}`)).not.toBe('valid')
  })
})

describe('presets', () => {
  const decide = (text: string, effect: Parameters<typeof effectOfCase>[0]) => {
    const snapshot = snapshotOf(text)
    expect(snapshot.broken).toBeNull()
    const { verdict, rule: name } = snapshot.decide(effectOfCase(effect))
    return `${verdict} ${name}`
  }
  const git = 'rules:\n  - preset: git-host\n'
  const repository = 'https://github.com/a/b.git'
  const pushes = "  - { name: pushes, match: { host: '*' }, verdict: allow, excepts: git-host/push }\n"

  test.each([
    [git, { url: `${repository}/git-upload-pack`, method: 'POST' }, 'allow git-host/clone'],
    [git, { url: `${repository}/info/refs?service=git-upload-pack` }, 'allow null'],
    [
      git,
      { url: 'https://gitlab.com/a/api/b/c.git/git-upload-pack', method: 'POST' },
      'allow git-host/clone',
    ],
    [git, { url: 'https://github.com/a/api/git-upload-pack', method: 'POST' }, 'allow git-host/clone'],
    [git, { url: 'https://gist.github.com/1.git/git-upload-pack', method: 'POST' }, 'allow git-host/clone'],
    [git, { url: 'https://gist.github.com/1.git/git-receive-pack', method: 'POST' }, 'ask git-host/push'],
    ...(
      [
        ['PUT', 'https://api.github.com/repos/o/r/contents/a/git-upload-pack'],
        ['POST', 'https://api.github.com/a/git-upload-pack'],
        ['DELETE', 'https://api.github.com/repos/o/r/contents/a/info/refs'],
        ['PUT', `${repository}/git-upload-pack`],
        ['POST', `${repository}/info/refs`],
        ['POST', 'https://codeberg.org/api/v1/repos/o/r/contents/a/info/refs'],
        ['POST', 'https://codeberg.org/api/v1/repos/o/r/contents/a/git-upload-pack'],
        ['POST', 'https://codeberg.org/API/v1/repos/o/r/contents/a/git-upload-pack'],
        ['POST', 'https://codeberg.org/%61pi/v1/repos/o/r/contents/a/git-upload-pack'],
        ['POST', 'https://codeberg.org//api/v1/repos/o/r/contents/a/git-upload-pack'],
        ['POST', 'https://codeberg.org/;x/api/v1/repos/o/r/contents/a/git-upload-pack'],
        ['POST', 'https://codeberg.org/api/v1/repos/o/r/contents/a/git-upload-pack/'],
        ['POST', 'https://bitbucket.org/!api/2.0/repositories/o/r/src/git-upload-pack'],
        ['POST', 'https://gitlab.com/a/b/-/create/main/git-upload-pack'],
        ['POST', 'https://uploads.github.com/repos/o/r/releases/1/assets'],
      ] as const
    ).map(([method, url]) => [git, { url, method }, 'ask git-host/writes'] as const),
    [
      'rules:\n  - { preset: git-host, hosts: git.lan }',
      { url: 'https://git.lan/git/api/v1/repos/o/r/contents/git-upload-pack', method: 'POST' },
      'ask git-host/writes',
    ],
    [git, { url: `${repository}/git-receive-pack`, method: 'POST' }, 'ask git-host/push'],
    // What "Always" writes for a push takes back the one rule that asks.
    [`${git}${pushes}`, { url: `${repository}/git-receive-pack`, method: 'POST' }, 'allow pushes'],
    ...(
      [
        ['PUT', `${repository}/git-receive-pack`],
        ['POST', 'https://api.github.com/a/git-receive-pack'],
        ['POST', 'https://codeberg.org/api/v1/repos/o/r/contents/a/git-receive-pack'],
        ['POST', 'https://codeberg.org/%61pi/v1/repos/o/r/contents/a/git-receive-pack'],
      ] as const
    ).map(([method, url]) => [`${git}${pushes}`, { url, method }, 'ask git-host/writes'] as const),
    // A tunnel hides what is sent, so it may be a push.
    [git, { url: repository, tool: 'connect' }, 'ask git-host/push'],
    [git, { url: 'https://example.org/a/git-receive-pack', method: 'POST' }, 'allow null'],
    [
      'rules:\n  - { preset: git-host, hosts: git.lan }',
      { url: 'https://git.lan/a/git-receive-pack' },
      'ask git-host/push',
    ],
    [
      'rules:\n  - { preset: git-host, hosts: git.lan }',
      { url: `${repository}/git-receive-pack` },
      'allow null',
    ],
    ['rules:\n  - { preset: git-host, agent: w* }', { url: `${repository}/git-receive-pack` }, 'allow null'],
    [
      git,
      { url: 'https://gitlab.com/api/v4/projects/1/repository/commits', method: 'POST' },
      'ask git-host/writes',
    ],
    [git, { url: 'https://api.github.com/repos/a/b/contents/c', method: 'PUT' }, 'ask git-host/writes'],
    [git, { url: 'https://api.github.com/repos/a/b/pulls' }, 'allow null'],
    [git, { url: `${repository}/info/lfs/objects/batch`, method: 'POST' }, 'ask git-host/writes'],
    [git, { url: `${repository}/info/lfs/locks`, method: 'POST' }, 'ask git-host/writes'],
    [git, { url: 'https://api.bitbucket.org/2.0/x', method: 'POST' }, 'ask git-host/writes'],
    ...['api', '!api', 'repos'].map(
      (first) =>
        [
          git,
          { url: `https://github.com/${first}/a/git-upload-pack`, method: 'POST' },
          'ask git-host/writes',
        ] as const,
    ),
    ...['pypi.org', 'test.pypi.org', 'upload.pypi.org'].map(
      (host) =>
        [
          'rules:\n  - preset: pypi',
          { url: `https://${host}/x`, method: 'POST' },
          'ask pypi/writes',
        ] as const,
    ),
    ...['GET', 'HEAD'].map(
      (method) =>
        ['rules:\n  - preset: pypi', { url: 'https://pypi.org/x', method }, 'allow pypi/reads'] as const,
    ),
    ['rules:\n  - preset: pypi', { url: 'https://pypi.org/x', method: 'OPTIONS' }, 'allow null'],
    ...['api', 'connect', 'files'].map(
      (name) =>
        [
          'rules:\n  - preset: payments-api',
          { url: `https://${name}.stripe.com/x`, method: 'POST' },
          'ask payments-api/writes',
        ] as const,
    ),
    ...['users.list', 'users.info', 'conversations.history', 'conversations.replies', 'auth.test'].map(
      (call) =>
        [
          'rules:\n  - preset: slack',
          { url: `https://slack.com/api/${call}`, method: 'POST' },
          'allow slack/reads',
        ] as const,
    ),
    ['rules:\n  - preset: slack', { url: 'https://slack.com/archives/x', method: 'POST' }, 'allow null'],
    // The objects go to a host that the answer of the batch names.
    [git, { url: 'https://objects.other.test/7', method: 'PUT' }, 'allow null'],
    [
      'rules:\n  - { name: no, match: { method: DELETE }, verdict: deny }',
      { url: 'https://tickets.test/7?_method=DELETE', method: 'POST' },
      'deny no',
    ],
    ['rules:\n  - preset: npm', { url: 'https://registry.npmjs.org/left-pad' }, 'allow npm/reads'],
    [
      'rules:\n  - preset: npm',
      { url: 'https://registry.npmjs.org/left-pad', method: 'COPY' },
      'ask npm/writes',
    ],
    [
      'rules:\n  - preset: npm',
      { url: 'https://registry.yarnpkg.com/left-pad', method: 'PUT' },
      'ask npm/writes',
    ],
    [
      'rules:\n  - preset: npm',
      { url: 'https://registry.npmjs.org/-/npm/v1/security/advisories/bulk', method: 'POST' },
      'allow npm/audits',
    ],
    [
      'rules:\n  - preset: npm',
      { url: 'https://registry.npmjs.org/-/npm/v1/security/x', method: 'PUT' },
      'ask npm/writes',
    ],
    ['rules:\n  - preset: npm', { url: 'https://registry.npmjs.org/x', tool: 'connect' }, 'ask npm/writes'],
    [
      'rules:\n  - preset: slack',
      { url: 'https://files.slack.com/upload/v1/x', method: 'POST' },
      'ask slack/writes',
    ],
    ...['services', 'workflows', 'triggers'].map(
      (kind) =>
        [
          'rules:\n  - preset: slack',
          { url: `https://hooks.slack.com/${kind}/T/B/x`, method: 'POST' },
          'ask slack/writes',
        ] as const,
    ),
    [
      'rules:\n  - preset: payments-api',
      { url: 'https://files.stripe.com/v1/files', method: 'POST' },
      'ask payments-api/writes',
    ],
    [
      'rules:\n  - preset: npm',
      { url: 'https://registry.npmjs.org/left-pad', method: 'PUT' },
      'ask npm/writes',
    ],
    [
      'rules:\n  - preset: pypi',
      { url: 'https://upload.pypi.org/legacy/', method: 'POST' },
      'ask pypi/writes',
    ],
    [
      'rules:\n  - preset: crates',
      { url: 'https://crates.io/api/v1/crates/new', method: 'PUT' },
      'ask crates/writes',
    ],
    [
      'rules:\n  - preset: slack',
      { url: 'https://slack.com/api/chat.postMessage', method: 'POST' },
      'ask slack/writes',
    ],
    [
      'rules:\n  - preset: slack',
      { url: 'https://slack.com/api/conversations.history', method: 'POST' },
      'allow slack/reads',
    ],
    [
      'rules:\n  - preset: payments-api',
      { url: 'https://api.stripe.com/v1/charges' },
      'allow payments-api/reads',
    ],
    [
      'rules:\n  - preset: payments-api',
      { url: 'https://api.stripe.com/v1/charges', method: 'POST' },
      'ask payments-api/writes',
    ],
    ['rules:\n  - preset: mcp', { mcp_server: 'crm', mcp_tool: 'delete' }, 'ask mcp/any/calls'],
    [
      'rules:\n  - { preset: mcp, server: crm, reads: [list_*] }',
      { mcp_server: 'crm', mcp_tool: 'list_all' },
      'allow mcp/crm/reads',
    ],
    [
      'rules:\n  - { preset: mcp, server: crm, reads: [list_*] }',
      { mcp_server: 'crm', mcp_tool: 'delete' },
      'ask mcp/crm/calls',
    ],
    ['rules:\n  - { preset: mcp, server: crm, reads: [list_*] }', { mcp_server: 'crm' }, 'ask mcp/crm/calls'],
    [
      'rules:\n  - { preset: mcp, server: crm, reads: [list_*] }',
      { mcp_server: 'other', mcp_tool: 'a' },
      'allow null',
    ],
  ] as const)('%s decides %j: %s', (text, effect, expected) => {
    expect(decide(text, { agent: 'scout', ...effect })).toBe(expected)
  })
})

describe('the effect of a case', () => {
  test.each<[Parameters<typeof effectOfCase>[0], object]>([
    [{ agent: 'a' }, { agent: 'a', tool: 'http_request' }],
    [
      { agent: 'a', project: 'site', url: 'https://API.test./x?y', method: 'post', credential: ['k'] },
      {
        agent: 'a',
        tool: 'http_request',
        project: 'site',
        host: 'api.test',
        method: 'POST',
        path: '/x',
        credentials: ['k'],
      },
    ],
    [
      { agent: 'a', url: 'https://a.test' },
      { agent: 'a', tool: 'http_request', host: 'a.test', method: 'GET', path: '/' },
    ],
    [
      { agent: 'a', tool: 'connect', url: 'https://a.test/x' },
      { agent: 'a', tool: 'connect', host: 'a.test', method: null, path: null },
    ],
    [
      { agent: 'a', mcp_server: 'crm' },
      { agent: 'a', tool: 'mcp', mcpServer: 'crm', mcpTool: null },
    ],
    [
      { agent: 'a', mcp_server: 'crm', mcp_tool: 'x' },
      { agent: 'a', tool: 'mcp', mcpServer: 'crm', mcpTool: 'x' },
    ],
    [
      { agent: 'a', chain: 'base' },
      { agent: 'a', tool: 'wallet_transfer', chain: 'base', usd: null },
    ],
    [
      { agent: 'a', chain: 'base', usd: 2, contract: '0xAB', payee: ['So1A', '0xCD'], origin: ['human'] },
      {
        agent: 'a',
        tool: 'wallet_transfer',
        chain: 'base',
        usd: 2,
        contract: '0xab',
        payees: ['0xcd', 'So1A'],
        origins: ['human'],
      },
    ],
  ])('%j is %j', (one, effect) => {
    expect(effectOfCase(one)).toStrictEqual(effect)
  })
})

describe('the cases of the file', () => {
  const withCase = (expected: string) => `${rule()}cases:
  - { agent: scout, url: 'https://github.com/a/git-receive-pack', method: post, ${expected} }
`

  test.each(['', '# no rules yet\n', '---\n', 'rules:\n  # - { preset: npm }\n', 'rules:\ncases:\n'])(
    'the text %j has no rules and is valid',
    (text) => {
      expect(snapshotOf(text)).toMatchObject({ rules: [], cases: [], broken: null })
    },
  )

  test('a policy whose cases hold is in force', () => {
    expect(snapshotOf(withCase('expect: ask, rule: push'))).toMatchObject({
      broken: null,
      cases: [{ line: 7 }],
    })
  })

  test.each([
    ['expect: deny', 'the case expects deny, and the verdict is ask: the rule push decides'],
    ['expect: ask, rule: pull', 'the case expects the rule pull, and the rule push decides'],
  ])('a policy with the failing case %s denies everything', (expected, reason) => {
    const snapshot = snapshotOf(withCase(expected))
    expect(snapshot.broken).toBe(`config/policy.yaml line 7: ${reason}`)
    expect(snapshot.decide({ agent: 'a', tool: 'browser' })).toEqual({
      verdict: 'deny',
      rule: null,
      line: 7,
      reason: `all effects are denied, because the policy is invalid: ${snapshot.broken}`,
    })
  })

  test('a case without a matching rule says so', () => {
    const text = 'cases:\n  - { agent: a, tool: browser, expect: ask }'
    expect(snapshotOf(text).broken).toBe(
      'config/policy.yaml line 2: the case expects ask, and the verdict is allow: no rule matches',
    )
  })

  test.each([
    [
      { agent: 'a', url: 'https://[::1]:8443/x%20y?q' },
      { tool: 'http_request', host: '::1', method: 'GET', path: '/x%20y' },
    ],
    [
      { agent: 'a', tool: 'connect', url: 'https://A.test.' },
      { tool: 'connect', host: 'a.test', method: null, path: null },
    ],
    [
      { agent: 'a', mcp_server: 'crm', project: 'p' },
      { tool: 'mcp', mcpServer: 'crm', mcpTool: null, project: 'p' },
    ],
    [
      { agent: 'a', chain: 'base', usd: 3 },
      { tool: 'wallet_transfer', chain: 'base', usd: 3 },
    ],
    [
      { agent: 'a', chain: 'base' },
      { tool: 'wallet_transfer', chain: 'base', usd: null },
    ],
    [
      {
        agent: 'a',
        tool: 'browser',
        credential: ['A'],
        origin: ['cron'] as const,
        channel: ['slack'] as const,
      },
      { tool: 'browser', credentials: ['A'], origins: ['cron'], channels: ['slack'] },
    ],
  ])('the case %j means %j', (one, effect) => {
    expect(effectOfCase(one)).toEqual({ agent: 'a', ...effect })
  })
})
