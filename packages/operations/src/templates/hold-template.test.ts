import { Problem } from '@flotilla/protocol/problem'
import { stringify } from 'yaml'
import { describe, expect, test } from 'vitest'
import { createPermissionGrants } from '../../../identity/src/access/permission-grants.ts'
import { defaultBudget } from '../../../fleet/src/agents/index.ts'
import type { Caller } from '../../../identity/src/access/caller.ts'
import { holdTemplate, requireMayGive, requireWholeSettings } from './hold-template.ts'
import type { CurrentFleet } from './current-fleet.ts'
import { parseTemplate } from './template-file.ts'

const grants = createPermissionGrants({ edit: () => Promise.reject(new Error('nothing is written here')) })

/** The error for a template with this agent `a` and these projects; null if it is allowed. */
function refusal(
  agent: Readonly<Record<string, unknown>>,
  projects: readonly object[] = [],
  {
    limits = { dailyUsd: 3, monthlyUsd: 30 },
    settings = {},
  }: {
    readonly limits?: ReturnType<CurrentFleet['projectLimits']>
    readonly settings?: ReturnType<CurrentFleet['settingsOf']>
  } = {},
): string | null {
  const text = stringify({
    name: 'held',
    description: 'Held.',
    projects,
    agents: [{ id: 'a', role: 'r', instructions: '', ...agent }],
  })
  const standing = {
    projectLimits: () => limits,
    settingsOf: () => settings,
    dataLimitMb: () => settings.data_limit_mb ?? 500,
    isolation: () => ({
      rung: settings.isolation ?? 'container',
      mode: settings.isolation_mode ?? 'preferred',
    }),
  } as Partial<CurrentFleet> as CurrentFleet
  try {
    holdTemplate(parseTemplate('held', text), grants, standing)
    return null
  } catch (error) {
    return error instanceof Problem ? `${error.code}: ${error.detail}` : String(error)
  }
}

describe('the grants of a template', () => {
  test.each([
    [{ can_spawn: true }, 'can_spawn'],
    [{ can_use_browser: true }, 'can_use_browser'],
    [{ can_use_wallet: true }, 'can_use_wallet'],
    [{ wallet_spend_limit_daily_usd: 5 }, 'wallet_spend_limit_daily_usd'],
    [{ allowed_credentials: ['github'] }, 'allowed_credentials'],
    [{ can_route_tasks: true }, 'can_route_tasks'],
    [{ can_manage_fleet: true }, 'can_manage_fleet'],
  ])("a template is limited by the operator's ceiling: %j", (permissions, field) => {
    const said = refusal({ permissions })
    expect(said).toContain('unprocessable: template held, agent a: ')
    expect(said).toContain(field)
  })

  test('a template may grant what the operator could, and no budget above the default', () => {
    expect(refusal({ permissions: { can_message: ['operator', 'b'], allowed_apis: ['llm'] } })).toBeNull()
    expect(refusal({})).toBeNull()
    const { dailyUsd, monthlyUsd } = defaultBudget
    const budget = { daily_usd: dailyUsd, monthly_usd: monthlyUsd }
    expect(refusal({ budget })).toBeNull()
    expect(refusal({ budget: { ...budget, daily_usd: (dailyUsd ?? 0) + 1 } })).toContain(
      'with flotilla budget a after it was created',
    )
    expect(refusal({ budget: { ...budget, monthly_usd: (monthlyUsd ?? 0) + 1 } })).toContain('monthly')
  })

  test.each(['operator', 'Operator', 'OPERATOR'])('a template cannot create an agent called %s', (id) => {
    expect(refusal({ id })).toContain('reserved-agent-id')
  })

  test('a template cannot raise an existing project budget, but can set a missing one', () => {
    const project = { name: 'acme', daily_usd: 3, monthly_usd: 30 }
    expect(refusal({}, [project])).toBeNull()
    expect(refusal({}, [{ ...project, daily_usd: 2 }])).toBeNull()
    expect(refusal({}, [{ ...project, daily_usd: 4 }])).toContain('with flotilla budget project:acme')
    expect(refusal({}, [{ ...project, monthly_usd: null }])).toContain('template held, project acme')
    expect(
      refusal({}, [{ ...project, daily_usd: 4 }], { limits: { dailyUsd: null, monthlyUsd: null } }),
    ).toBeNull()
  })
})

describe('the settings in a template', () => {
  const said = (settings: object, standing: ReturnType<CurrentFleet['settingsOf']> = {}) =>
    refusal({ settings }, [], { settings: standing })

  test('a template may set hibernation, named models, a smaller disk limit and fewer hosts', () => {
    expect(said({})).toBeNull()
    expect(said({ hibernate_after_minutes: null })).toBeNull()
    expect(said({ models: ['openai/gpt-5', 'gpt-5-mini'] })).toBeNull()
    expect(said({ data_limit_mb: 500 })).toBeNull()
    expect(said({ data_limit_mb: 400 }, { data_limit_mb: 400 })).toBeNull()
    expect(said({ allowed_hosts: ['a.example', '*'] })).toBeNull()
    expect(said({ allowed_hosts: ['b.example'] }, { allowed_hosts: ['a.example', 'b.example'] })).toBeNull()
    expect(said({ allowed_hosts: ['c.example'] }, { allowed_hosts: ['a.example', '*'] })).toBeNull()
    expect(said({ allowed_hosts: [] }, { allowed_hosts: [] })).toBeNull()
    expect(said({ isolation: 'gvisor', isolation_mode: 'required' })).toBeNull()
    expect(said({ data_limit_mb: 400 }, { allowed_hosts: ['a.example'] })).toBeNull()
  })

  test.each([
    [{ models: ['openai/gpt-5', 'openai/*'] }, {}, 'models: openai/* matches several models'],
    [{ models: ['*'] }, { models: ['openai/*'] }, 'models: * matches several'],
    [{ models: ['openai/gpt-5-search-preview'] }, {}, 'can search the web by itself'],
    [{ data_limit_mb: 501 }, {}, 'data_limit_mb: the limit of the agent here is 500'],
    [{ data_limit_mb: 401 }, { data_limit_mb: 400 }, 'agents.a.data_limit_mb of config/settings.json'],
    [
      { allowed_hosts: ['a.example', 'c.example'] },
      { allowed_hosts: ['a.example'] },
      'do not include c.example',
    ],
    [{ allowed_hosts: ['*'] }, { allowed_hosts: [] }, 'egress.allowed_hosts.a'],
    [
      { isolation: 'container' },
      { isolation: 'gvisor' } as const,
      'agents.a.isolation of config/settings.json',
    ],
    [{ isolation_mode: 'preferred' }, { isolation_mode: 'required' } as const, 'agents.a.isolation_mode of'],
  ])('the settings %j over %j are only for an owner', (settings, standing, words) => {
    expect(said(settings, standing)).toContain('unprocessable: template held, agent a: settings.')
    expect(said(settings, standing)).toContain(words)
  })

  test('a template may name settings that the owner allowed before', () => {
    const models = ['openai/*', 'openai/gpt-5-search-preview']
    expect(said({ models }, { models })).toBeNull()
  })
})

test('with a broken settings file only templates without settings are applied', () => {
  const told = (settings: string, broken: string | null) => () => {
    const agent = `{ id: a, role: r, instructions: i${settings} }`
    const text = `name: t\ndescription: d\nagents: [${agent}, { id: b, role: r, instructions: i }]`
    requireWholeSettings(parseTemplate('t', text), { broken: () => broken })
  }
  expect(told('', 'line 1')).not.toThrow()
  expect(told(', settings: { data_limit_mb: 100 }', null)).not.toThrow()
  expect(told(', settings: { data_limit_mb: 100 }', 'line 1')).toThrow(
    expect.objectContaining({
      code: 'unprocessable',
      detail: expect.stringContaining('line 1'),
      repair: expect.stringContaining('Correct config/settings.json'),
    }),
  )
})

describe('packages and sizes in a template', () => {
  const owner: Caller = { kind: 'human', role: 'owner', channel: 'cli' }
  const member: Caller = { kind: 'human', role: 'member', channel: 'cli' }
  const now = { packages: { apt: ['ffmpeg'] }, size: { memory_mb: 1024 }, harness: 'codex' } as const
  const codeFor = (caller: Caller, settings: Readonly<Record<string, unknown>>): string => {
    const agents = [{ id: 'a', role: 'r', instructions: '', settings }]
    const template = parseTemplate('held', stringify({ name: 'held', description: 'Held.', agents }))
    try {
      requireMayGive(caller, template, { settingsOf: () => ({ ...now, packages: { apt: ['ffmpeg'] } }) })
      return 'allowed'
    } catch (error) {
      return error instanceof Problem ? error.code : String(error)
    }
  }

  test.each([
    [{ packages: { apt: ['ffmpeg'] } }, 'allowed'],
    [{ packages: {} }, 'allowed'],
    [{ size: { memory_mb: 1024 } }, 'allowed'],
    [{ size: { memory_mb: 512 } }, 'allowed'],
    [{ image: `tools@sha256:${'a'.repeat(64)}` }, 'human-only'],
    [{ harness: 'codex' }, 'allowed'],
    [{ harness: 'opencode' }, 'human-only'],
    [{ harness: { command: ['sh', '-c', 'env'] } }, 'human-only'],
    [{ packages: { apt: ['ffmpeg', 'nmap'] } }, 'human-only'],
    [{ packages: { toolboxes: ['build'] } }, 'human-only'],
    [{ size: { memory_mb: 1025 } }, 'human-only'],
    [{ size: { cpus: 1 } }, 'human-only'],
    [{ size: { pids: 300 } }, 'human-only'],
    [{ size: { tmp_mb: 101 } }, 'human-only'],
  ])('only an owner adds packages, a larger size, an image or a harness: %j', (settings, code) => {
    expect(codeFor(member, settings)).toBe(code)
    expect(codeFor(owner, settings)).toBe('allowed')
  })
})
