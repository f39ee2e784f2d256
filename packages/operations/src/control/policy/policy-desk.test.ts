import { writeFileSync } from 'node:fs'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mcpServersSchema } from '@flotilla/protocol/mcp-servers'
import { describe, expect, test } from 'vitest'
import { collectJournal } from '../../../../../tests/support/collected-ports.ts'
import { createFileEditor } from '../../../../foundation/src/config/index.ts'
import { silentLog } from '../../../../foundation/src/platform/log.ts'
import { createPolicyFile } from '../../../../identity/src/policy/index.ts'
import type { EffectDetails, PolicyStop } from '../../../../identity/src/policy/index.ts'
import { Problem } from '@flotilla/protocol/problem'
import { createManualClock } from '../../../../protocol/src/testing/manual-clock.ts'
import { ownLoop } from '../../../../testing/src/own-loop.ts'
import { finished } from '../../../../foundation/src/intake/index.ts'
import type { LoopShare, StepWork } from '../../../../foundation/src/intake/index.ts'
import { createAddRule } from './add-rule.ts'
import { createAllowAlways } from './allow-always.ts'
import { createListStops } from './list-stops.ts'
import { createReachOfCredential } from './reach-of-credential.ts'
import { createTryPolicy } from './try-policy.ts'

const owner = { kind: 'human', role: 'owner', channel: 'cli' } as const
const inChat = { kind: 'human', role: 'owner', channel: 'telegram' } as const
const text = `# The owner's comment stays.
rules:
  - { name: asked, match: { host: api.test }, verdict: ask, reason: No. } # This one too.
  - { name: admin, match: { path: '/admin/**' }, verdict: deny }
cases:
  - { agent: scout, method: POST, url: 'https://api.test/cased', expect: ask }
`
const effect = { tool: 'http_request', method: 'POST', host: 'api.test', path: '/v1', credentials: [] }

async function aHome() {
  const path = join(await mkdtemp(join(tmpdir(), 'policy-')), 'policy.yaml')
  await writeFile(path, text)
  const clock = createManualClock()
  const inSteps = async <T>(work: StepWork<T>) => finished(work)
  const policy = await createPolicyFile({ path, editor: createFileEditor(), clock, log: silentLog, inSteps })
  const journal = collectJournal()
  const confirmed: string[] = []
  const view = { state: 'pending', digest: 'd', after: 'done' }
  const asked = { rule: 'asked', details: effect as EffectDetails }
  const shared = { guard: () => {}, policy, journal, log: silentLog, projectOf: () => null }
  const always = createAllowAlways({
    ...shared,
    runs: { chainOf: (id) => (id === 'run_1' ? [{ origin: { kind: 'human' } }] : []) as never },
    approvals: {
      effectOf: (id) =>
        id === 'payment'
          ? null
          : { ...asked, agentId: 'scout', runId: id === 'appr_gone' ? 'gone' : 'run_1' },
      read: () => view as never,
      confirm: async (_caller, { id }) => {
        if (view.state !== 'pending') throw new Problem('approval-used')
        confirmed.push(id)
        return { id, state: view.after } as never
      },
      view: (row) => row as never,
    },
  })
  const add = createAddRule(shared)
  const decide = (path: string) =>
    policy.snapshot().decide({ agent: 'scout', ...effect, path, origins: ['human'] })
  return { path, policy, journal, add, always, confirmed, view, asked, decide, clock }
}

describe('a rule that the owner adds', () => {
  const given = { id: 'appr_1', digest: 'd' }

  test('"always" allows exactly the approved effect after it was carried out, and leaves the rest of the file as it is', async () => {
    const { always, path, decide, confirmed, journal } = await aHome()
    const { rule, not_added: notAdded } = await always.confirm(owner, given)
    expect(notAdded).toBe(null)
    expect(decide('/v1')).toMatchObject({ verdict: 'allow', rule: rule?.name })
    expect(decide('/v2').verdict).toBe('ask')
    // The rule is added, and every byte of the owner stays.
    const [before, after] = text.split('cases:') as [string, string]
    const changed = await readFile(path, 'utf8')
    expect(changed.startsWith(`${before}  - name: ${rule?.name}\n`)).toBe(true)
    expect(changed.endsWith(`\ncases:${after}`)).toBe(true)
    expect(confirmed).toEqual(['appr_1'])
    expect(journal.entries).toMatchObject([{ action: 'policy.rule-added', subject: rule?.name }])
  })

  test('"always" shows its rule before, with exactly what the rule allows, and changes nothing', async () => {
    const { always, path, confirmed } = await aHome()
    const shown = await always.show(owner, 'appr_1')
    expect(shown.text).toContain(`name: ${shown.rule.name}`)
    expect(shown.allows).toEqual([
      'scout may send POST to api.test/v1 by http_request, on any port, with any query, headers and body, without asking you, at any time and any number of times.',
      'Only if the mesh fills in no credential.',
      'Only in work with the origin human.',
      'Of the rules that ask, only asked is taken back; a rule that denies still denies.',
    ])
    expect(await readFile(path, 'utf8')).toBe(text)
    expect(confirmed).toEqual([])
    expect((await always.confirm(owner, { ...given, rule: shown.rule.name })).rule).toEqual(shown.rule)
  })

  test('"always" says of a payment and of a call of a harness what the rule bounds', async () => {
    const { always, asked, path, policy } = await aHome()
    const without = text.replace('host: api.test', "agent: '*'").replace(/cases:[\s\S]*/, '')
    await writeFile(path, without)
    await policy.refresh()
    const payment = {
      tool: 'wallet_transfer',
      chain: 'base',
      contract: '0xc0',
      payees: ['0xab'],
      usd: 12.301,
    }
    const allows = async (details: EffectDetails) => {
      asked.details = details
      return (await always.show(owner, 'appr_1')).allows.join('\n')
    }
    expect(await allows(payment)).toMatch(
      /^scout may pay the token 0xc0 on base, without asking you.*\nOnly to 0xab\.\nEach payment counts for at most USD 12\.31 .*\nThe limits of the wallet/,
    )
    expect(await allows({ ...payment, contract: 'coin' })).toMatch(
      /^scout may pay the coin of the chain on base,/,
    )
    expect(await allows({ ...payment, tool: 'wallet_execute', payees: [], call: 'c0ffee' })).toMatch(
      /^scout may make exactly this call of the contract 0xc0, with the same arguments and amount, on base, .*\nOnly if no address receives anything\./,
    )
    expect(await allows({ tool: 'harness_execute', call: 'c0ffee' })).toMatch(
      /^The harness of scout may make exactly the call that is shown, with the SHA-256 c0ffee,/,
    )
    asked.details = { tool: 'harness_execute', call: null }
    await expect(always.show(owner, 'appr_1')).rejects.toMatchObject({ code: 'unprocessable' })
  })

  test('"always" refuses a rule that is no longer the shown one', async () => {
    const { always, asked, confirmed, path } = await aHome()
    const shown = await always.show(owner, 'appr_1')
    Object.assign(asked, { rule: 'another' })
    await expect(always.confirm(owner, { ...given, rule: shown.rule.name })).rejects.toMatchObject({
      code: 'approval-changed',
    })
    expect(confirmed).toEqual([])
    expect(await readFile(path, 'utf8')).toBe(text)
  })

  test.each<[string, string, string]>([
    [
      'another rule that asks',
      'verdict: ask',
      'the rule more in line 5 of config/policy.yaml would still ask',
    ],
    ['a rule that denies', 'verdict: deny', 'the rule more in line 5 of config/policy.yaml would still deny'],
  ])('"always" approves and writes nothing if %s wins', async (_what, verdict, detail) => {
    const { always, path, policy, confirmed } = await aHome()
    const more = text.replace('cases:', `  - { name: more, match: { path: /v1 }, ${verdict} }\ncases:`)
    await writeFile(path, more)
    await policy.refresh()
    const refused = { code: 'unprocessable', detail: expect.stringContaining(detail) as unknown }
    await expect(always.show(owner, 'appr_1')).rejects.toMatchObject(refused)
    await expect(always.confirm(owner, given)).rejects.toMatchObject(refused)
    expect(await readFile(path, 'utf8')).toBe(more)
    expect(confirmed).toEqual([])
  })

  test('"always" whose rule would break a case of the file approves nothing', async () => {
    const { always, asked, path, confirmed } = await aHome()
    asked.details = { ...effect, credentials: ['github'] }
    const cased = text.replace(
      "url: 'https://api.test/cased'",
      "url: 'https://api.test/v1', origin: human, credential: github",
    )
    await writeFile(path, cased)
    await expect(always.confirm(owner, given)).rejects.toMatchObject({
      code: 'unprocessable',
      detail: expect.stringContaining('the case expects ask, and the verdict is allow') as unknown,
    })
    expect(confirmed).toEqual([])
  })

  test('"always" of an action that fails adds no rule', async () => {
    const { always, view, path, journal } = await aHome()
    view.after = 'failed'
    expect(await always.confirm(owner, given)).toMatchObject({
      rule: null,
      not_added: 'the action is failed, so no rule was added',
      approval: { state: 'failed' },
    })
    expect(await readFile(path, 'utf8')).toBe(text)
    expect(journal.entries).toEqual([])
  })

  test('"always" says that the rule was not added if the file changed while the action was carried out', async () => {
    const { always, view, path, journal } = await aHome()
    Object.defineProperty(view, 'after', {
      get: () => {
        writeFileSync(path, `${text}broken: 1\n`)
        return 'done'
      },
    })
    expect(await always.confirm(owner, given)).toMatchObject({
      rule: null,
      not_added: expect.stringMatching(
        /^the action was carried out, and the rule was not added: .*line 7/,
      ) as unknown,
      approval: { state: 'done' },
    })
    expect(await readFile(path, 'utf8')).toBe(`${text}broken: 1\n`)
    expect(journal.entries).toEqual([])
  })

  test('"always" for an action that a rule of that name allows already is a conflict', async () => {
    const { always, policy, confirmed } = await aHome()
    await always.confirm(owner, given)
    await expect(always.confirm(owner, { ...given, id: 'appr_2' })).rejects.toMatchObject({
      code: 'conflict',
    })
    expect(policy.snapshot().rules).toHaveLength(3)
    expect(confirmed).toEqual(['appr_1'])
  })

  test('"always" writes nothing for another digest, a decided approval, or an action that no rule can name', async () => {
    const { always, path, view, confirmed } = await aHome()
    view.state = 'expired'
    await expect(always.confirm(owner, given)).rejects.toMatchObject({ code: 'approval-used' })
    for (const id of ['payment', 'appr_gone'])
      await expect(always.confirm(owner, { ...given, id })).rejects.toMatchObject({ code: 'unprocessable' })
    expect(await readFile(path, 'utf8')).toBe(text)
    expect(confirmed).toEqual([])
  })

  test('is refused from a chat', async () => {
    const { always, add, path } = await aHome()
    const refused = { code: 'human-only' }
    await expect(always.confirm(inChat, given)).rejects.toMatchObject(refused)
    await expect(always.show(inChat, 'appr_1')).rejects.toMatchObject(refused)
    await expect(
      add(inChat, { name: 'a', match: { agent: '*' }, verdict: 'allow', reason: '' }),
    ).rejects.toMatchObject(refused)
    expect(await readFile(path, 'utf8')).toBe(text)
  })

  test('is a conflict if another rule has its name, and the file stays', async () => {
    const { add, path } = await aHome()
    const rule = { name: 'admin', match: { agent: '*' }, verdict: 'allow', reason: '' } as const
    await expect(add(owner, rule)).rejects.toMatchObject({
      code: 'conflict',
      detail: expect.stringContaining('a rule admin in line 4') as unknown,
    })
    expect(await readFile(path, 'utf8')).toBe(text)
  })

  test('is not written if a case of the file would fail, or if it is no valid rule', async () => {
    const { add, path } = await aHome()
    const broad = {
      name: 'broad',
      match: { host: 'api.test' },
      excepts: 'asked',
      verdict: 'allow',
      reason: '',
    } as const
    await expect(add(owner, broad)).rejects.toMatchObject({
      code: 'unprocessable',
      detail: expect.stringContaining('the case expects ask, and the verdict is allow') as unknown,
    })
    await expect(add(owner, { ...broad, excepts: 'none' })).rejects.toMatchObject({
      code: 'unprocessable',
    })
    expect(await readFile(path, 'utf8')).toBe(text)
  })
})

describe('cases that are tried', () => {
  test('show each result, of the rules in force and of another text, which changes nothing', async () => {
    const { policy, decide } = await aHome()
    const tried = createTryPolicy({ guard: () => {}, policy })
    expect(await tried(owner, null)).toMatchObject({
      broken: null,
      cases: [{ line: 6, effect: 'scout: POST api.test/cased by http_request', holds: true, rule: 'asked' }],
    })
    expect(await tried(owner, text.replace('verdict: ask', 'verdict: deny'))).toMatchObject({
      broken: expect.stringContaining('line 6'),
      cases: [{ expect: 'ask', verdict: 'deny', holds: false }],
    })
    expect(await tried(owner, 'rules: 1')).toMatchObject({
      broken: expect.stringContaining('line 1'),
      cases: [],
    })
    expect(decide('/v1').verdict).toBe('ask')
  })
})

describe('what rules stopped', () => {
  const stop = (more: Partial<PolicyStop>): PolicyStop => ({
    agentId: 'scout',
    rule: 'asked',
    verdict: 'ask',
    effect,
    origins: null,
    count: 3,
    lastAt: 5,
    ...more,
  })

  async function aList(stops: readonly PolicyStop[], loop: Pick<LoopShare, 'inSteps'> = ownLoop()) {
    const { policy, clock, always, path } = await aHome()
    const asked: (string | null)[] = []
    const list = createListStops({
      guard: () => {},
      policy,
      policyUse: {
        stops: ({ agentId, limit }) => {
          asked.push(agentId)
          return stops.filter((one) => agentId === null || one.agentId === agentId).slice(0, limit)
        },
      },
      approvals: {
        approvedSince: (_since, agentId) => {
          asked.push(agentId)
          return [{ details: effect, rule: 'asked', agentId: 'scout' }]
        },
      },
      projectOf: () => null,
      clock,
      loop,
    })
    return { list, asked, always, policy, path }
  }

  test('has the narrowest rule for what was asked for, with what it opens, and advice for what was denied', async () => {
    const { list, asked } = await aList([
      stop({}),
      stop({ agentId: 'other' }),
      stop({ rule: 'admin', verdict: 'deny', effect: { ...effect, path: '/admin/a' } }),
      stop({ effect: { tool: 'connect', host: 'api.test', method: null, path: null } }),
      stop({ rule: 'gone' }),
    ])
    const { stops: found, truncated } = await list(owner, { agentId: 'scout', days: 7 })
    expect(found).toMatchObject([
      {
        effect: 'POST api.test/v1 by http_request',
        count: 3,
        approved: 1,
        proposal: {
          rule: { verdict: 'allow', excepts: 'asked' },
          allows: expect.arrayContaining(['In work of every origin.']) as unknown,
          opens: expect.arrayContaining(['scout: POST api.test/v1 by http_request']) as unknown,
        },
      },
      { proposal: null, advice: expect.stringContaining('it denies') },
      { proposal: null, advice: expect.stringContaining('flotilla egress inspect api.test') },
      { proposal: null, advice: expect.stringContaining('no longer') },
    ])
    expect(truncated).toBe(false)
    // Neither the effects nor the approvals of other agents are read.
    expect(asked).toEqual(['scout', 'scout'])
  })

  test('has no rule for what an "always" rule allows by now, and still one for work of another origin', async () => {
    const { list, always } = await aList([
      stop({ origins: ['human'] }),
      stop({ origins: ['cron'] }),
      stop({ origins: ['human'], effect: { ...effect, path: '/v2' } }),
    ])
    const before = (await list(owner, { agentId: 'scout', days: 7 })).stops
    const { rule } = await always.confirm(owner, { id: 'appr_1', digest: 'd' })
    // What is proposed is what "always" would write.
    expect(before[0]?.proposal?.rule.name).toBe(rule?.name)
    const { stops: after } = await list(owner, { agentId: 'scout', days: 7 })
    expect(after).toMatchObject([
      { proposal: null, advice: `The rule ${rule?.name} allows this by now.` },
      { proposal: { rule: { when: expect.stringContaining('origins == ["cron"]') as unknown } }, advice: '' },
      { proposal: { rule: { match: { path: '/v2' } } }, advice: '' },
    ])
    expect(after[1]?.proposal?.allows).toContain('Only in work with the origin cron.')
    expect(after[1]?.proposal?.opens).toEqual(['scout: POST api.test/v1 by http_request'])
  })

  test('gets no rule while the file is invalid, and does not call its rules gone', async () => {
    const { list, policy, path } = await aList([stop({})])
    await writeFile(path, 'rules:\n  - { name: asked }\n')
    await policy.refresh()
    expect((await list(owner, { agentId: 'scout', days: 7 })).stops).toMatchObject([
      { proposal: null, advice: 'No rule can be added while config/policy.yaml is invalid.' },
    ])
  })

  test('of an agent is listed however many effects of other agents came later', async () => {
    const others = Array.from({ length: 300 }, () => stop({ agentId: 'other' }))
    const { list } = await aList([...others, stop({})])
    expect((await list(owner, { agentId: 'scout', days: 7 })).stops).toHaveLength(1)
    expect(await list(owner, { agentId: null, days: 7 })).toMatchObject({
      stops: { length: 200 },
      truncated: true,
    })
  })

  test.each<[string, Partial<EffectDetails>]>([
    ['path', { path: `/${'a'.repeat(299)}` }],
    ['host', { host: 'a'.repeat(300) }],
    ['list of credentials', { credentials: Array.from({ length: 20 }, (_, at) => `k${at}`) }],
  ])('gets no rule if its %s may have been cut', async (_what, more) => {
    const { list } = await aList([stop({ effect: { ...effect, ...more } })])
    const [found] = (await list(owner, { agentId: 'scout', days: 7 })).stops
    expect(found).toMatchObject({ proposal: null, advice: expect.stringContaining('only the beginning') })
  })

  test('is decided one effect at a time, and other work is served between them', async () => {
    let pauses = 0
    let ran = 0
    const loop: Pick<LoopShare, 'inSteps'> = {
      inSteps: async (agentId, work) => {
        // A person is served in turns, and is not charged.
        expect(agentId).toBe(null)
        for (;;) {
          const step = work.next()
          if (step.done === true) return step.value
          pauses++
          await Promise.resolve()
          ran++
        }
      },
    }
    const { list } = await aList(
      Array.from({ length: 150 }, (_none, at) => stop({ effect: { ...effect, path: `/v1/${at}` } })),
      loop,
    )
    expect((await list(owner, { agentId: null, days: 7 })).stops).toHaveLength(150)
    // A pause before each effect, and one before each decision of each proposed rule.
    expect(pauses).toBeGreaterThanOrEqual(150 + 150 * 150)
    expect(ran).toBe(pauses)
  })
})

describe('the reach of a credential', () => {
  let isCut = false
  let whyNone: string | null = null
  async function reachOf(more: {
    readonly hosts: readonly string[]
    readonly inspected?: readonly string[]
    readonly allowed?: readonly string[]
    readonly denied?: readonly string[]
  }) {
    const { policy } = await aHome()
    const reach = createReachOfCredential({
      guard: () => {},
      decide: (_caller, action) =>
        more.denied?.includes(action.do) === true
          ? { allowed: false, reason: 'no', field: null }
          : { allowed: true },
      policy,
      settings: () =>
        ({
          egress: {
            inspected_hosts: more.inspected ?? [],
            allowed_hosts: more.allowed === undefined ? {} : { scout: more.allowed },
          },
        }) as never,
      hostsOf: () => more.hosts,
      serversOf: () => mcpServersSchema.parse({ wiki: { url: 'https://wiki.test/mcp' } }),
      projectOf: () => null,
      rootOf: (agentId) => agentId,
      requireAgent: () => {},
      loop: ownLoop(),
    })
    const { ways, truncated, refused } = await reach(owner, 'scout', 'github')
    isCut = truncated
    whyNone = refused
    return ways.map(({ host, by, verdict }) => `${host} ${by} ${verdict}`)
  }

  test('names each bound host with each way, and the verdict that no request there can escape', async () => {
    expect(await reachOf({ hosts: ['api.test', 'wiki.test'], inspected: ['api.test'] })).toEqual([
      'https://api.test http_request ask',
      'https://api.test program ask',
      'https://api.test browser ask',
      'https://wiki.test http_request allow',
      'https://wiki.test browser allow',
      'https://wiki.test mcp allow',
    ])
  })

  test('is no wider than the hosts that the agent may reach', async () => {
    const only = async (hosts: readonly string[], allowed: readonly string[]) =>
      (await reachOf({ hosts, allowed, denied: ['use-browser'] })).map((way) => way.split(' ')[0])
    expect(await only(['a.test', 'b.test'], ['a.test'])).toEqual(['https://a.test'])
    expect(await only(['*.one.test'], ['x.one.test', '*.y.one.test', 'two.test'])).toEqual([
      'https://x.one.test',
      'https://*.y.one.test',
    ])
    expect(await only(['*.one.test'], ['*'])).toEqual(['https://*.one.test'])
    expect(await only(['*.one.test'], ['*.test'])).toEqual(['https://*.one.test'])
  })

  test('is bounded, and says so', async () => {
    const allowed = Array.from({ length: 600 }, (_none, at) => `h${at}.one.test`)
    expect(await reachOf({ hosts: ['*.one.test'], allowed: allowed.slice(0, 500) })).toHaveLength(1000)
    expect(isCut).toBe(false)
    expect(await reachOf({ hosts: ['*.one.test'], allowed })).toHaveLength(1000)
    expect(isCut).toBe(true)
  })

  test('of a credential that is not stored, or has no host, says so', async () => {
    expect(await reachOf({ hosts: [] })).toEqual([])
    expect(whyNone).toBe('no credential github is stored, or it may be sent to no host')
    await reachOf({ hosts: ['api.test'] })
    expect(whyNone).toBeNull()
  })

  test('is empty without permissions', async () => {
    expect(await reachOf({ hosts: ['api.test'], denied: ['call-api', 'use-browser'] })).toEqual([])
    expect(await reachOf({ hosts: ['api.test'], denied: ['use-credential'] })).toEqual([])
  })
})
