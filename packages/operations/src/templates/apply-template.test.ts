import { readFile, writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { heedsLesson } from '../../../../tests/verifies.ts'
import type { Caller } from '../../../identity/src/access/index.ts'
import { owner } from '../../../testing/src/fleet-harness.ts'
import { aTemplatesHarness } from '../../../testing/src/templates-harness.ts'
import { parseTemplate } from './template-file.ts'

const worker = { kind: 'agent', agentId: 'b', token: 'door', run: null } as const
const chat = { kind: 'human', role: 'owner', channel: 'slack' } as const

const yaml = `
name: pair
description: Two
projects: [{ name: acme, daily_usd: 3, monthly_usd: 30 }]
agents:
  - id: a
    role: first
    instructions: go
    project: acme
    heartbeat: every 30m
    permissions: { allowed_apis: [llm], can_message: [operator, b] }
    budget: { daily_usd: 1, monthly_usd: 2 }
    files: { input/list.txt: "one\\n" }
    skills: { count_lines.js: "export const name = 'count_lines'" }
  - { id: b, role: second, instructions: go, heartbeat: off }
webhooks:
  - { name: builds, agent: a, instructions: Read it., when: 'event == "push"' }
schedules:
  - { id: look, agent: b, schedule: '0 7 * * *', message: Look. }
`
/** The same template with a watched folder. */
const watching = yaml.replace(
  'schedules:',
  `watchers:
  - { path: /srv/inbox, pattern: '*.pdf', agent: a, message: 'Read {filename}', when: size_bytes > 0 }
schedules:`,
)
/** The same template with settings of an agent. */
const set = watching.replace(
  'files: { input',
  `settings: { models: [openai/gpt-5], data_limit_mb: 100, hibernate_after_minutes: 5, allowed_hosts: [a.example], answers: { chat: { thinking: low } } }
    files: { input`,
)
const ownWatchers =
  '# mine\nwatchers:\n    # the bills\n    - {path: /b,   pattern: q, agent: x, message: n}\n'
const template = parseTemplate('pair', yaml)

let harness: Awaited<ReturnType<typeof aTemplatesHarness>>
beforeEach(async () => {
  harness = await aTemplatesHarness()
})
afterEach(() => harness.close())

describe('applying a template', () => {
  test('a template creates everything that it names, and a second application changes nothing', async () => {
    const { plan, secrets } = await harness.application.apply(owner, template)
    expect(plan.items.map(({ kind, id, action }) => [kind, id, action])).toEqual([
      ['project', 'acme', 'create'],
      ['agent', 'a', 'create'],
      ['agent', 'b', 'create'],
      ['schedule', 'look', 'create'],
      ['webhook', 'a: builds', 'create'],
    ])
    expect(plan.items.find(({ kind }) => kind === 'schedule')?.changes).toContainEqual({
      field: 'agent',
      before: null,
      after: 'b',
    })
    expect(secrets.map(({ secret }) => secret)).toEqual([expect.stringMatching(/^whsec_/)])
    expect(harness.state()).toMatchObject({
      agents: [
        {
          id: 'a',
          project: 'acme',
          budget: { dailyUsd: 1, monthlyUsd: 2 },
          files: { 'input/list.txt': 'one\n', 'skills/count_lines.js': expect.any(String) },
        },
        { id: 'b', project: null },
      ],
      records: { a: { allowed_apis: ['llm'] }, b: { allowed_apis: ['llm', 'http', 'web_search'] } },
      jobs: expect.arrayContaining([
        expect.objectContaining({ agent: 'a', heartbeat: true, schedule: 'every 30m', enabled: true }),
        expect.objectContaining({ agent: 'b', heartbeat: true, enabled: false }),
        expect.objectContaining({ id: 'look', message: 'Look.' }),
      ]),
      hooks: [{ agentId: 'a', name: 'builds', signed: true }],
      projects: [{ name: 'acme', dailyUsd: 3, monthlyUsd: 30 }],
    })
    const again = harness.application.plan(owner, template)
    expect(again.items.map(({ action }) => action)).toEqual(['keep', 'keep', 'keep', 'keep', 'keep'])
    expect(harness.fleetHarness.journal.filter(({ action }) => action === 'template.applied')).toHaveLength(1)
  })

  test('a plan shows each change with both values, and only those change', async () => {
    await harness.application.apply(owner, template)
    const changed = parseTemplate(
      'pair',
      yaml
        .replace('role: first', 'role: foremost')
        .replace('can_message: [operator, b]', 'can_message: [operator]')
        .replace("'0 7 * * *'", "'0 8 * * *'")
        .replace('input/list.txt: "one\\n"', 'input/list.txt: "two\\n"'),
    )
    const plan = harness.application.plan(owner, changed)
    expect(plan.items.filter(({ action }) => action !== 'keep')).toEqual([
      {
        kind: 'agent',
        id: 'a',
        action: 'change',
        changes: [
          { field: 'role', before: 'first', after: 'foremost' },
          { field: 'permissions.can_message', before: '["operator","b"]', after: '["operator"]' },
          { field: '/data/input/list.txt', before: 'one\n', after: 'two\n' },
        ],
      },
      {
        kind: 'schedule',
        id: 'look',
        action: 'change',
        changes: [{ field: 'schedule', before: '0 7 * * *', after: '0 8 * * *' }],
      },
    ])
    const before = harness.state()
    await harness.application.apply(owner, changed, { digest: plan.digest })
    const after = harness.state()
    expect(after.hooks).toEqual(before.hooks)
    expect(after.agents[1]).toEqual(before.agents[1])
    expect(after.agents[0]).toMatchObject({ role: 'foremost', files: { 'input/list.txt': 'two\n' } })
    expect(after.records['a']).toMatchObject({ can_message: ['operator'], allowed_apis: ['llm'] })
  })

  test('an application does exactly what the plan showed, or nothing', async () => {
    const { digest } = harness.application.plan(owner, template)
    await harness.fleetHarness.fleet.admin.create(owner, { id: 'b', role: 'mine' })
    await expect(harness.application.apply(owner, template, { digest })).rejects.toMatchObject({
      code: 'conflict',
    })
    expect(harness.fleetHarness.fleet.registry.find('a')).toBeNull()
  })

  test('a template that is applied by name leaves existing objects unchanged', async () => {
    await harness.fleetHarness.fleet.admin.create(owner, { id: 'b', role: 'mine' })
    const { plan } = await harness.application.apply(owner, template, { onlyNew: true })
    expect(plan.items.find(({ id }) => id === 'b')).toMatchObject({ action: 'keep', changes: [] })
    expect(harness.fleetHarness.fleet.registry.find('b')?.role).toBe('mine')
    expect(harness.fleetHarness.fleet.registry.find('a')?.role).toBe('first')
  })

  test('two concurrent applications create one fleet', async () => {
    const both = await Promise.allSettled([
      harness.application.apply(owner, template),
      harness.application.apply(owner, template),
    ])
    expect(both.map(({ status }) => status)).toContain('fulfilled')
    expect(harness.fleetHarness.fleet.registry.list().map(({ id }) => id)).toEqual(['a', 'b'])
    expect(harness.webhooks.all()).toHaveLength(1)
    expect(harness.jobs.file.jobs()).toHaveLength(3)
    expect(harness.applications.open()).toEqual([])
  })
})

describe('the ceiling of a template', () => {
  test.each([
    ['a permission that only a person grants', 'permissions: { can_spawn: true }', 'unprocessable'],
    ['a credential', 'permissions: { allowed_credentials: [bank] }', 'unprocessable'],
    ['a control plane permission', 'permissions: { can_manage_fleet: true }', 'unprocessable'],
    ['a budget above the default', 'budget: { daily_usd: 1000, monthly_usd: 2 }', 'unprocessable'],
  ])('a template with %s creates nothing, also for an owner', async (_name, line, code) => {
    heedsLesson(8)
    const above = parseTemplate('pair', yaml.replace('role: second', `role: second, ${line}`))
    const before = harness.state()
    await expect(harness.application.apply(owner, above)).rejects.toMatchObject({ code })
    expect(() => harness.application.plan(owner, above)).toThrow(expect.objectContaining({ code }))
    expect(harness.state()).toEqual(before)
  })

  test.each(['operator', 'Operator', 'mesh'])('the reserved id %s is rejected', async (id) => {
    const taken = parseTemplate(
      null,
      `name: t\ndescription: d\nagents: [{ id: ${id}, role: r, instructions: i }]`,
    )
    await expect(harness.application.apply(owner, taken)).rejects.toMatchObject({ code: 'reserved-agent-id' })
  })

  test('a template does not raise a lower project limit', async () => {
    await harness.application.apply(owner, template)
    const raised = parseTemplate('pair', yaml.replace('daily_usd: 3', 'daily_usd: 30'))
    await expect(harness.application.apply(owner, raised)).rejects.toMatchObject({
      code: 'unprocessable',
      detail: expect.stringContaining('flotilla budget project:acme'),
    })
  })

  test('only a person at the terminal can raise the budget of an existing agent by a template', async () => {
    await harness.application.apply(owner, template)
    const raised = parseTemplate('pair', yaml.replace('daily_usd: 1,', 'daily_usd: 2,'))
    await expect(harness.application.apply(chat, raised)).rejects.toMatchObject({ code: 'human-only' })
    await harness.application.apply(owner, raised)
    expect(harness.fleetHarness.fleet.registry.find('a')?.budget.dailyUsd).toBe(2)
  })

  test('applying a template needs the permission to manage the fleet', async () => {
    await expect(harness.application.apply(worker, template)).rejects.toMatchObject({ code: 'denied' })
    expect(() => harness.application.plan(worker, template)).toThrow(
      expect.objectContaining({ code: 'denied' }),
    )
  })
})

describe('a template with watchers', () => {
  const refused = { code: 'human-only', repair: expect.stringContaining('flotilla apply') }

  test("a template with watchers edits the owner's file, changes its own entry, and then has nothing to do", async () => {
    await writeFile(harness.paths.watchersFile, ownWatchers)
    const first = await harness.application.apply(owner, parseTemplate('pair', watching))
    expect(first.plan.items.at(-1)).toEqual({
      kind: 'watcher',
      id: 'a: /srv/inbox/*.pdf',
      action: 'create',
      changes: [
        { field: 'message', before: null, after: 'Read {filename}' },
        { field: 'when', before: null, after: 'size_bytes > 0' },
      ],
    })
    const text = await readFile(harness.paths.watchersFile, 'utf8')
    expect(text).toContain('# mine')
    expect(text).toContain('# the bills')
    const other = parseTemplate('pair', watching.replace(', when: size_bytes > 0', ''))
    const { plan } = await harness.application.apply(owner, other)
    expect(plan.items.at(-1)).toMatchObject({
      action: 'change',
      changes: [{ field: 'when', before: 'size_bytes > 0', after: 'null' }],
    })
    expect(harness.state().watchers).toEqual([
      { path: '/b', pattern: 'q', agent: 'x', message: 'n' },
      { path: '/srv/inbox', pattern: '*.pdf', agent: 'a', message: 'Read {filename}' },
    ])
    const again = harness.application.plan(owner, other)
    expect(new Set(again.items.map(({ action }) => action))).toEqual(new Set(['keep']))
    await harness.application.apply(owner, parseTemplate('pair', watching), { onlyNew: true })
    expect(harness.state().watchers).toHaveLength(2)
    expect(harness.state().watchers[1]).not.toHaveProperty('when')
  })

  test('only an owner at the terminal can plan or apply a template with watchers, and other callers change nothing', async () => {
    const before = harness.state()
    const operator = { kind: 'agent', agentId: 'operator', token: 'door', run: null } as const
    const callers: readonly Caller[] = [
      { ...operator },
      { kind: 'human', role: 'member', channel: 'cli', agents: ['*'] },
      { kind: 'human', role: 'viewer', channel: 'dashboard' },
      chat,
      { kind: 'internal' },
      { kind: 'system' },
    ]
    const trusting = harness.trusting()
    for (const caller of callers) {
      const template = parseTemplate('pair', watching)
      await expect(trusting.apply(caller, template), JSON.stringify(caller)).rejects.toMatchObject(refused)
      await expect(trusting.apply(caller, template, { onlyNew: true })).rejects.toMatchObject(refused)
      expect(() => trusting.plan(caller, template)).toThrow(expect.objectContaining(refused))
    }
    expect(harness.state()).toEqual(before)
    // An existing watcher does not allow the rest.
    await harness.application.apply(owner, parseTemplate('pair', watching))
    await expect(trusting.apply(operator, parseTemplate('pair', watching))).rejects.toMatchObject(refused)
  })

  test("a page needs the owner's proof for a new watcher and for a changed message", async () => {
    const page = { kind: 'human', role: 'owner', channel: 'dashboard', page: 'unproved' } as const
    const before = harness.state()
    const wanted = { code: 'proof-wanted' }
    await expect(harness.application.apply(page, parseTemplate('pair', watching))).rejects.toMatchObject(
      wanted,
    )
    expect(harness.state()).toEqual(before)
    await harness.application.apply({ ...page, page: 'proved' }, parseTemplate('pair', watching))
    const other = parseTemplate('pair', watching.replace('Read {filename}', 'Send {filename}'))
    await expect(harness.application.apply(page, other)).rejects.toMatchObject(wanted)
    expect(harness.state().watchers[0]).toMatchObject({ message: 'Read {filename}' })
  })

  test.each([
    ['starts an agent outside of the template', 'agent: operator, message', 'agent: a, message'],
    ['has no absolute path', 'path: srv/inbox', 'path: /srv/inbox'],
    ['searches below its folder', "pattern: 'x/*.pdf'", "pattern: '*.pdf'"],
    ['has an invalid condition', 'when: size_bytes >', 'when: size_bytes > 0'],
  ])('a template is rejected if a watcher %s', (_name, wrong, right) => {
    expect(watching).toContain(right)
    expect(() => parseTemplate('pair', watching.replace(right, wrong))).toThrow(
      expect.objectContaining({ code: 'unprocessable' }),
    )
  })

  test('a template with watchers is rejected if their file is broken or full', async () => {
    const template = parseTemplate('pair', watching)
    await writeFile(harness.paths.watchersFile, 'watchers: [')
    await expect(harness.application.apply(owner, template)).rejects.toMatchObject({
      code: 'unprocessable',
      detail: expect.stringContaining('config/watchers.yaml line 1'),
    })
    const watchers = Array.from({ length: 100 }, (_one, at) => ({
      path: '/x',
      pattern: `${at}`,
      agent: 'x',
      message: 'm',
    }))
    await writeFile(harness.paths.watchersFile, JSON.stringify({ watchers }))
    await expect(harness.application.apply(owner, template)).rejects.toMatchObject({ code: 'conflict' })
    expect(harness.fleetHarness.fleet.registry.list()).toEqual([])
  })
})

describe('a template with settings of an agent', () => {
  const settingsOf = (id: string) => harness.state().agents.find((agent) => agent.id === id)?.settings

  test("a template with settings edits the owner's file, shows the changes, and then has nothing to do", async () => {
    const own = '{\n  "tasks": { "max_usd": 7 },\n  "agents": { "b": { "data_limit_mb": 70 } }\n}\n'
    await harness.settingsFile.editAll(() => [{ field: ['tasks'], value: {} }])
    await writeFile(harness.paths.settingsFile, own)
    const { plan } = await harness.application.apply(owner, parseTemplate('pair', set))
    expect(plan.items[1]?.changes).toEqual(
      expect.arrayContaining([
        { field: 'settings.models', before: null, after: '["openai/gpt-5"]' },
        { field: 'settings.allowed_hosts', before: null, after: '["a.example"]' },
      ]),
    )
    const whole = {
      models: ['openai/gpt-5'],
      data_limit_mb: 100,
      hibernate_after_minutes: 5,
      allowed_hosts: ['a.example'],
      answers: { chat: { thinking: 'low' } },
    }
    expect(settingsOf('a')).toEqual(whole)
    expect(settingsOf('b')).toEqual({ data_limit_mb: 70 })
    expect(harness.settingsFile.current().tasks.max_usd).toBe(7)
    const again = harness.application.plan(owner, parseTemplate('pair', set))
    expect(new Set(again.items.map(({ action }) => action))).toEqual(new Set(['keep']))
    const less = parseTemplate('pair', set.replace(/settings: .*/, 'settings: { data_limit_mb: 80 }'))
    const { plan: second } = await harness.application.apply(owner, less)
    expect(second.items[1]).toMatchObject({
      action: 'change',
      changes: [{ field: 'settings.data_limit_mb', before: '100', after: '80' }],
    })
    expect(settingsOf('a')).toEqual({ ...whole, data_limit_mb: 80 })
    await harness.application.apply(
      owner,
      parseTemplate('pair', set.replace('limit_mb: 100', 'limit_mb: 70')),
      {
        onlyNew: true,
      },
    )
    expect(settingsOf('a')).toEqual({ ...whole, data_limit_mb: 80 })
  })

  test('a template with settings above the ceiling, or with a broken file, changes nothing', async () => {
    const before = harness.state()
    const above = parseTemplate('pair', set.replace('limit_mb: 100', 'limit_mb: 9000'))
    await expect(harness.application.apply(owner, above)).rejects.toMatchObject({
      code: 'unprocessable',
      detail: expect.stringContaining('agent a: settings.data_limit_mb'),
    })
    await writeFile(harness.paths.settingsFile, '{')
    await expect(harness.settingsFile.edit(['tasks'], {})).rejects.toMatchObject({ code: 'unprocessable' })
    await expect(harness.application.apply(owner, parseTemplate('pair', set))).rejects.toMatchObject({
      code: 'unprocessable',
      detail: expect.stringContaining('config/settings.json line 1'),
    })
    expect(harness.state()).toEqual(before)
    await harness.application.apply(owner, template)
  })

  test.each([
    '{ packages: { apt: [ffmpeg] } }',
    '{ size: { memory_mb: 900 } }',
    '{ harness: { command: [sh] } }',
  ])("only an owner gives an agent %s, and a page needs the owner's proof", async (settings) => {
    const page = { kind: 'human', role: 'owner', channel: 'dashboard', page: 'unproved' } as const
    const operator = { kind: 'agent', agentId: 'operator', token: 'door', run: null } as const
    const before = harness.state()
    const given = parseTemplate(
      'pair',
      yaml.replace('files: { input', `settings: ${settings}\n    files: { input`),
    )
    for (const options of [{}, { onlyNew: true }]) {
      await expect(harness.application.apply(page, given, options)).rejects.toMatchObject({
        code: 'proof-wanted',
      })
      await expect(harness.trusting().apply(operator, given, options)).rejects.toMatchObject({
        code: 'human-only',
      })
    }
    expect(harness.state()).toEqual(before)
    await harness.application.apply({ ...page, page: 'proved' }, given)
    expect(harness.state()).not.toEqual(before)
  })

  test("a page needs the owner's proof for more models of an existing agent", async () => {
    const page = { kind: 'human', role: 'owner', channel: 'dashboard', page: 'unproved' } as const
    await harness.application.apply(page, template)
    const only = (settings: string) =>
      parseTemplate('pair', yaml.replace('files: { input', `settings: ${settings}\n    files: { input`))
    await expect(harness.application.apply(page, only('{ models: [openai/gpt-5] }'))).rejects.toMatchObject({
      code: 'proof-wanted',
    })
    await harness.application.apply(page, only('{ hibernate_after_minutes: 5 }'))
    expect(settingsOf('a')).toEqual({ hibernate_after_minutes: 5 })
  })
})

describe('a failing application', () => {
  const steps = [
    'permissions',
    'permissions written',
    'jobs',
    'jobs written',
    'settings',
    'settings written',
    'watchers',
    'watchers written',
    'secret',
    'end',
  ]
  const notUndone = {
    code: 'internal-error',
    detail: expect.stringContaining('Not all could be undone: config/permissions.json still contains'),
    repair: expect.stringContaining('restart the mesh'),
  }

  test.each(steps)('an application that fails at %s changes nothing', async (failing) => {
    const paths = [harness.paths.permissionsFile, harness.paths.watchersFile]
    await writeFile(harness.paths.watchersFile, ownWatchers)
    await harness.fileWatches.refresh()
    const before = harness.state()
    const files = await Promise.all(paths.map((path) => readFile(path, 'utf8')))
    let failed = false
    harness.before.step = (step) => {
      if (step !== failing || failed) return
      failed = true
      throw new Error(`no ${step}`)
    }
    await expect(harness.application.apply(owner, parseTemplate('pair', set))).rejects.toThrow(
      `no ${failing}`,
    )
    expect(failed).toBe(true)
    expect(harness.state()).toEqual(before)
    expect(harness.stored.size).toBe(0)
    expect(harness.applications.open()).toEqual([])
    expect(await Promise.all(paths.map((path) => readFile(path, 'utf8')))).toEqual(files)
  })

  test.each(steps)(
    'an application that is killed at %s is reverted by the next start or complete',
    async (killed) => {
      await harness.application.apply(owner, template)
      const before = harness.state()
      const changed = parseTemplate(
        'pair',
        `${set
          .replace('role: first', 'role: foremost')
          .replace('can_message: [operator, b]', 'can_message: [operator]')
          .replace("'0 7 * * *'", "'0 8 * * *'")
          .replace('  - { name: builds', '  - { name: more, agent: b }\n  - { name: builds')}
  - { id: more, agent: a, schedule: '0 9 * * *', message: More. }
`,
      )
      let dead = false
      harness.before.step = (step) => {
        // After the kill no further step runs, and no undo either.
        dead ||= step === killed
        if (dead) throw new Error('killed')
      }
      await expect(harness.application.apply(owner, changed)).rejects.toMatchObject(notUndone)
      harness.before.step = () => {}
      expect(harness.applications.open()).toHaveLength(1)
      expect(await harness.again().undoOpen()).toEqual({ undone: 1, left: [] })
      expect(harness.state()).toEqual(before)
      expect(harness.applications.open()).toEqual([])
      await harness.again().apply(owner, changed)
      expect(harness.state().records['a']).toMatchObject({ can_message: ['operator'] })
      expect(harness.webhooks.all()).toHaveLength(2)
    },
  )

  test('the undo continues after a file that cannot be restored, and reports which and the repair', async () => {
    const before = harness.state()
    let failed = false
    harness.before.step = (step) => {
      failed ||= step === 'secret'
      if (failed && (step === 'secret' || step === 'permissions')) throw new Error(`no ${step}`)
    }
    const refused: unknown = await harness.application.apply(owner, template).catch((error: unknown) => error)
    expect(refused).toMatchObject(notUndone)
    expect(refused).toMatchObject({ detail: expect.not.stringContaining('config/cron.json') })
    // The jobs are restored, although the permissions before them are not.
    expect(harness.state().jobs).toEqual(before.jobs)
    expect(harness.permissions.snapshot().recordOf('a')).toBeDefined()
    expect(await harness.again().undoOpen()).toMatchObject({
      undone: 0,
      left: [{ file: 'config/permissions.json', what: ['a', 'b'] }],
    })
    harness.before.step = () => {}
    expect(await harness.again().undoOpen()).toEqual({ undone: 1, left: [] })
    expect(harness.permissions.snapshot().recordOf('a')).toBeUndefined()
  })

  test('an edit by hand during an application is not undone', async () => {
    let dead = false
    harness.before.step = (step) => {
      dead ||= step === 'secret'
      if (dead) throw new Error('killed')
    }
    await expect(harness.application.apply(owner, template)).rejects.toMatchObject(notUndone)
    harness.before.step = () => {}
    await harness.permissions.edit((records) => ({
      ...records,
      a: { ...records['a']!, allowed_apis: [] }, // written by the application
    }))
    await harness.again().undoOpen()
    expect(harness.permissions.snapshot().recordOf('a')).toMatchObject({ allowed_apis: [] })
    expect(harness.permissions.snapshot().recordOf('b')).toBeUndefined()
  })
})
