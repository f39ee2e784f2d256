import { writeFile } from 'node:fs/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { owner } from '../../../testing/src/fleet-harness.ts'
import { aTemplatesHarness } from '../../../testing/src/templates-harness.ts'
import { parseTemplate } from './template-file.ts'

const word = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/)
const prose = fc
  .array(
    fc.constantFrom(
      'go',
      ' ',
      '\n',
      ': ',
      '- x',
      '#',
      '"',
      "'",
      '{{a}}',
      'é',
      '漢',
      '\t',
      '&a',
      '*b',
      '|',
      '>',
    ),
    {
      minLength: 1,
      maxLength: 12,
    },
  )
  .map((parts) => parts.join(''))
  .filter((text) => text.trim() !== '')
const money = fc.record({
  daily_usd: fc.constantFrom(0.5, 1, 10),
  monthly_usd: fc.constantFrom(5, 20.25, 200),
})

/** Fleets within the limits of a template. */
const fleet = fc.uniqueArray(word, { minLength: 1, maxLength: 4 }).chain((ids) =>
  fc.record({
    name: fc.constant('fleet'),
    description: fc.constant('d'),
    agents: fc.tuple(
      ...ids.map((id) =>
        fc.record(
          {
            id: fc.constant(id),
            role: prose.map((text) => text.replaceAll(/\s+/g, ' ').trim()).filter((text) => text !== ''),
            instructions: prose,
            model: fc.constantFrom('scripted/demo', 'openai/gpt-5-mini'),
            heartbeat: fc.constantFrom('off', 'every 15m', 'every 2h'),
            project: fc.constantFrom('acme', 'lab'),
            permissions: fc.record(
              {
                can_message: fc.array(word, { maxLength: 3 }),
                blackboard_write: fc.constantFrom([], ['output/**'], ['*']),
                allowed_apis: fc.constantFrom([], ['llm']),
                can_use_browser: fc.constant(false),
                can_manage_cron: fc.boolean(),
              },
              { requiredKeys: [] },
            ),
            budget: money,
            settings: fc.record(
              {
                models: fc.constantFrom(['openai/gpt-5-mini'], ['scripted/demo', 'openai/gpt-5']),
                data_limit_mb: fc.integer({ min: 64, max: 5120 }),
                hibernate_after_minutes: fc.constantFrom(null, 1, 90),
                allowed_hosts: fc.constantFrom([], ['*'], ['*.example.org', 'api.example.com']),
              },
              { requiredKeys: [] },
            ),
            files: fc.dictionary(
              word.map((name) => `in/${name}.txt`),
              prose,
              { maxKeys: 2 },
            ),
            skills: fc.dictionary(
              word.map((name) => `${name}.js`),
              prose,
              { maxKeys: 2 },
            ),
          },
          { requiredKeys: ['id', 'role', 'instructions'] },
        ),
      ),
    ),
    projects: fc.subarray([
      { name: 'acme', daily_usd: 3, monthly_usd: null, goal: 'Known: all.', criteria: ['a', '"b"'] },
      { name: 'lab', daily_usd: null, monthly_usd: 4.5, sections: { 'Who reads': '- x\n- y', Words: '漢' } },
    ]),
    webhooks: fc.uniqueArray(
      fc.record(
        {
          name: word,
          agent: fc.constantFrom(...ids),
          instructions: prose,
          when: fc.constantFrom('a == 1', 'kind contains "x"'),
          per_minute: fc.integer({ min: 1, max: 100 }),
          signed: fc.boolean(),
          repeats: fc.constantFrom('refuse', 'accept'),
        },
        { requiredKeys: ['name', 'agent'] },
      ),
      { selector: ({ agent, name }) => `${agent} ${name}`, maxLength: 4 },
    ),
    schedules: fc.uniqueArray(
      fc.record(
        {
          id: word,
          agent: fc.constantFrom(...ids),
          schedule: fc.constantFrom('0 7 * * *', 'every 10m'),
          timezone: fc.constantFrom('UTC', 'Europe/Berlin'),
          enabled: fc.boolean(),
          suppress_empty: fc.boolean(),
          message: prose,
          when: fc.constantFrom('a == 1'),
        },
        { requiredKeys: ['id', 'agent', 'schedule', 'message'] },
      ),
      { selector: ({ id }) => id, maxLength: 4 },
    ),
    watches: fc.uniqueArray(
      fc.record({
        agent: fc.constantFrom(...ids),
        pattern: fc.constantFrom('output/**', 'tasks/*/summary', 'plan'),
        tell: fc.constantFrom('run', 'steer'),
      }),
      { selector: ({ agent, pattern }) => `${agent} ${pattern}`, maxLength: 4 },
    ),
    // Several may be equal in agent, folder and pattern, or in all fields.
    watchers: fc.array(
      fc.record(
        {
          path: fc.constantFrom('/srv/in', '/', '/srv/a b', '/srv/gone/'),
          pattern: fc.constantFrom('*.pdf', '*', '# x'),
          agent: fc.constantFrom(...ids),
          message: prose,
          when: fc.constantFrom('size_bytes > 0'),
        },
        { requiredKeys: ['path', 'pattern', 'agent', 'message'] },
      ),
      { maxLength: 5 },
    ),
  }),
)

test('an export creates the same fleet in an empty home, whatever the fleet', async () => {
  await fc.assert(
    fc.asyncProperty(fleet, async (wanted) => {
      const first = await aTemplatesHarness()
      const second = await aTemplatesHarness()
      try {
        await first.application.apply(owner, parseTemplate('fleet', stringify(wanted)))
        const { text, leftOut } = first.exportFleet(owner, { name: 'fleet', agents: null })
        expect(leftOut).toEqual([])
        await second.application.apply(owner, parseTemplate('fleet', text))
        const whole = first.state()
        // The limit of a project without workers is not part of them.
        const used = whole.agents.flatMap(({ project }) => project ?? [])
        const projects = whole.projects.filter(({ name }) => used.includes(name))
        // The file keeps its order, and the export groups watchers by worker.
        const order = whole.agents.map(({ id }) => id)
        const watchers = order.flatMap((id) => whole.watchers.filter(({ agent }) => agent === id))
        expect(second.state()).toEqual({ ...whole, projects, watchers })
        const again = second.exportFleet(owner, { name: 'fleet', agents: null })
        expect(again.text).toBe(text)
      } finally {
        await first.close()
        await second.close()
      }
    }),
    { numRuns: process.env['FLOTILLA_SOAK'] === '1' ? 75 : 10 },
  )
})

test('an export contains texts line by line', async () => {
  const harness = await aTemplatesHarness()
  try {
    const line = `3. ${'Count with a program. '.repeat(10)}`.trim()
    const instructions = `# How\n\n${line}\n   Never by reading along.\n`
    await harness.fleetHarness.fleet.admin.create(owner, { id: 'w', role: 'r', instructions })
    const { text } = harness.exportFleet(owner, { name: 'fleet', agents: null })
    expect(text).toContain(`\n      ${line}\n         Never by reading along.\n`)
  } finally {
    await harness.close()
  }
})

test('an export leaves out what a template cannot grant, with the command that sets it', async () => {
  const harness = await aTemplatesHarness()
  try {
    await harness.fleetHarness.fleet.admin.create(owner, {
      id: 'w',
      role: 'r',
      permissions: { can_spawn: true, allowed_credentials: ['bank'], can_message: ['x'] },
      budget: { dailyUsd: 900, monthlyUsd: 9000 },
    })
    const { text, leftOut } = harness.exportFleet(owner, { name: 'fleet', agents: null })
    expect(parseTemplate('fleet', text).agents[0]).toMatchObject({ permissions: { can_message: ['x'] } })
    expect(leftOut.map(({ command }) => command)).toEqual([
      "flotilla permissions set w allowed_credentials='bank'",
      'flotilla permissions set w can_spawn=true',
      'flotilla budget w --daily 900 --monthly 9000',
    ])
    await harness.settingsFile.edit(['agents', 'w'], {
      models: ['openai/gpt-5', 'openai/*'],
      data_limit_mb: 6000,
      hibernate_after_minutes: null,
    })
    const written = harness.exportFleet(owner, { name: 'fleet', agents: null })
    const again = parseTemplate('fleet', written.text)
    expect(again.agents[0]?.settings).toEqual({ hibernate_after_minutes: null })
    expect(written.leftOut.slice(3).map(({ what, why }) => `${what}: ${why}`)).toEqual([
      expect.stringContaining('agent w, settings.data_limit_mb: the limit of the agent here is 5120'),
      expect.stringMatching(/settings\.models: openai\/\* .* agents\.w\.models of config\/settings\.json$/),
    ])
    // Applied to the same fleet, it changes nothing.
    expect(harness.application.plan(owner, again).items.map(({ action }) => action)).toEqual(['keep'])
  } finally {
    await harness.close()
  }
})

test('an export contains the watchers of the workers, and reports a broken file', async () => {
  const harness = await aTemplatesHarness()
  const { watchersFile } = harness.paths
  try {
    for (const id of ['w', 'other']) await harness.fleetHarness.fleet.admin.create(owner, { id, role: 'r' })
    const entry = { path: '/srv/inbox', pattern: '*.pdf', agent: 'w', message: 'm' }
    const watchers = [entry, { ...entry, agent: 'other' }, { ...entry, agent: 'nobody' }]
    await writeFile(watchersFile, stringify({ watchers }))
    await harness.fileWatches.refresh()
    const asked = { name: 'fleet', agents: ['w'] }
    const { text, leftOut } = harness.exportFleet(owner, asked)
    expect(leftOut).toEqual([])
    expect(parseTemplate('fleet', text).watchers).toEqual([entry])
    await writeFile(watchersFile, 'watchers: [')
    await harness.fileWatches.refresh()
    const broken = harness.exportFleet(owner, asked)
    expect(broken.text).toBe(text)
    expect(broken.leftOut).toEqual([
      expect.objectContaining({ why: expect.stringContaining('config/watchers.yaml line 1') }),
    ])
  } finally {
    await harness.close()
  }
})

test('an export contains edited texts in their last version, and they create the same agent elsewhere', async () => {
  const first = await aTemplatesHarness()
  const second = await aTemplatesHarness()
  try {
    const { fleet } = first.fleetHarness
    await fleet.admin.create(owner, { id: 'w', role: 'r', instructions: 'First.' })
    fleet.admin.change('w', { instructions: 'Second.' })
    fleet.registry.seedFiles.given('w', 'INSTRUCTIONS.md', 'Second.')
    fleet.registry.seedFiles.given('w', 'SOUL.md', 'Loud.')
    fleet.registry.seedFiles.given('w', 'SOUL.md', 'Calm.')
    const { text } = first.exportFleet(owner, { name: 'fleet', agents: null })
    const [written] = parseTemplate('fleet', text).agents
    expect(written).toMatchObject({ instructions: 'Second.', files: { 'SOUL.md': 'Calm.' } })
    await second.application.apply(owner, parseTemplate('fleet', text))
    expect(second.state().agents).toEqual(first.state().agents)
    const again = await second.application.apply(owner, parseTemplate('fleet', text))
    expect(again.plan.items.map(({ action }) => action)).toEqual(['keep'])
  } finally {
    await first.close()
    await second.close()
  }
})

test('a template replaces the texts of an existing project and keeps those that it does not name', async () => {
  const harness = await aTemplatesHarness()
  const fleetOf = (project: object) =>
    parseTemplate(
      'fleet',
      stringify({
        name: 'fleet',
        description: 'd',
        projects: [{ name: 'acme', daily_usd: 3, ...project }],
        agents: [{ id: 'w', role: 'r', instructions: '', project: 'acme' }],
      }),
    )
  const textsNow = () => harness.state().projects.map(({ texts }) => texts)
  try {
    await harness.application.apply(
      owner,
      fleetOf({ goal: 'One.', criteria: ['a'], sections: { A: 'a', B: 'b' } }),
    )
    const { plan } = await harness.application.apply(owner, fleetOf({ goal: 'Two.', sections: { B: 'c' } }))
    expect(plan.items[0]?.changes).toEqual([
      { field: 'goal', before: 'One.', after: 'Two.' },
      { field: 'section B', before: 'b', after: 'c' },
    ])
    expect(textsNow()).toEqual([{ goal: 'Two.', criteria: ['a'], sections: { A: 'a', B: 'c' } }])
    harness.before.step = (step) => {
      if (step === 'end') throw new Error('the power goes')
    }
    await expect(harness.application.apply(owner, fleetOf({ goal: 'Three.' }))).rejects.toThrow(
      'the power goes',
    )
    expect(textsNow()).toEqual([{ goal: 'Two.', criteria: ['a'], sections: { A: 'a', B: 'c' } }])
  } finally {
    await harness.close()
  }
})

test('an export contains no secrets, archived agents or operator', async () => {
  const harness = await aTemplatesHarness()
  try {
    await harness.fleetHarness.fleet.lifecycle.ensureOperator()
    for (const id of ['w', 'gone']) await harness.fleetHarness.fleet.admin.create(owner, { id, role: 'r' })
    await harness.fleetHarness.fleet.admin.archive.archive(owner, 'gone')
    const { secret } = await harness.webhooks.manage.create(owner, {
      name: 'h',
      agentId: 'w',
      instructions: '',
      when: null,
      perMinute: null,
      signed: true,
    })
    const { text, leftOut } = harness.exportFleet(owner, { name: 'fleet', agents: null })
    expect(text).not.toContain(secret)
    expect(parseTemplate('fleet', text).agents.map(({ id }) => id)).toEqual(['w'])
    expect(leftOut).toEqual([expect.objectContaining({ what: 'agent gone' })])
  } finally {
    await harness.close()
  }
})
