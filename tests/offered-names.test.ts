import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { controlPlaneFlags, permissionRecordSchema } from '@flotilla/protocol/permission-record'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { groupsFor } from '@flotilla/protocol/tool-groups'
import { toolNeeds } from '@flotilla/protocol/tool-needs'
import { describe, expect, test } from 'vitest'
import { refusedBy } from '../packages/identity/src/access/refused-tools.ts'
import { systemBrief } from '../packages/fleet/src/agents/briefing/system-brief.ts'
import { buildSystemPrompt } from '../packages/agent/src/prompt/build-system-prompt.ts'
import type { PromptMode } from '../packages/agent/src/prompt/build-system-prompt.ts'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { parseTemplate } from '../packages/operations/src/templates/template-file.ts'

const kinds = ['worker', 'operator'] as const
type Kind = (typeof kinds)[number]

const toolsOf = (kind: Kind): string[] => groupsFor(kind).flatMap(({ tools }) => Object.values(tools))
/** Finds everything that looks like the name of a tool: words joined by underscores. */
const namesIn = (text: string): string[] => [...new Set(text.match(/\b[a-z]+(?:_[a-z]+)+\b/g))]

const everything = permissionRecordSchema.parse({
  can_message: ['*'],
  can_publish: ['*'],
  can_subscribe: ['*'],
  blackboard_read: ['*'],
  blackboard_write: ['*'],
  allowed_apis: ['*'],
  allowed_credentials: ['*'],
  can_manage_cron: true,
  can_spawn: true,
  can_use_wallet: true,
  can_use_browser: true,
  ...Object.fromEntries(controlPlaneFlags.map((flag) => [flag, true])),
})

const briefOf = (kind: Kind, permissions: PermissionRecord | null) =>
  systemBrief({
    agent: {
      id: 'me',
      kind,
      role: 'works',
      model: null,
      project: null,
      instructions: '',
      budget: { dailyUsd: 1, monthlyUsd: 1 },
      createdAt: 0,
    },
    colleagues: [{ id: 'other', role: 'works too' }],
    permissions,
  })

describe.each(kinds)('SYSTEM.md of a %s', (kind) => {
  test('SYSTEM.md names only tools that such an agent has, whatever it may', () => {
    const names = namesIn(briefOf(kind, everything))
    expect(names.length).toBeGreaterThan(4)
    expect(toolsOf(kind)).toEqual(expect.arrayContaining(names))
  })

  test('SYSTEM.md names no page that the agent lacks', () => {
    expect(briefOf(kind, everything)).not.toMatch(/dashboard/i)
  })

  test.each(Object.keys(toolNeeds))(
    'SYSTEM.md does not speak of %s where the mesh would refuse it',
    (tool) => {
      for (const permissions of [null, permissionRecordSchema.parse({})]) {
        expect(namesIn(briefOf(kind, permissions))).not.toContain(tool)
      }
      expect(refusedBy(everything)).toEqual([])
    },
  )

  test('SYSTEM.md names no recipients of work to an agent that may hand off none', () => {
    const { can_route_tasks: _routes, ...others } = everything
    for (const record of [
      { ...others, can_route_tasks: false },
      { ...everything, can_message: [] },
    ]) {
      const text = briefOf(kind, record)
      expect(text).not.toMatch(/hand_off|hand off|`other`|handing off|handed/i)
      expect(text).toContain('Give work to: no agent.')
    }
    expect(briefOf(kind, everything)).toContain('hand_off')
    expect(briefOf(kind, everything)).toContain('`other`')
  })

  test('SYSTEM.md names only commands that there are', () => {
    const folder = join(import.meta.dirname, '..', 'packages', 'cli', 'src', 'commands')
    const commands = readdirSync(folder).flatMap((file) =>
      [...readFileSync(join(folder, file), 'utf8').matchAll(/\.command\('([a-z]+)/g)].map(([, name]) => name),
    )
    const named = [...briefOf(kind, everything).matchAll(/flotilla ([a-z]+)/g)].map(([, name]) => name)
    expect(commands).toEqual(expect.arrayContaining(named))
  })
})

test.each(['chat', 'task', 'heartbeat', 'subagent'] satisfies PromptMode[])(
  'the words for %s name only tools that there are',
  (mode) => {
    for (const kind of kinds) {
      const none = sanitizeForPrompt('')
      const text = buildSystemPrompt({
        agentId: 'me',
        role: none,
        kind,
        mode,
        bootstrap: none,
        observations: none,
        learnings: none,
      })
      expect(toolsOf(kind)).toEqual(expect.arrayContaining(namesIn(text)))
    }
  },
)

test.each(readdirSync(join(import.meta.dirname, '..', 'templates')))(
  'the template %s names only tools that workers have',
  (name) => {
    const text = readFileSync(join(import.meta.dirname, '..', 'templates', name), 'utf8')
    const template = parseTemplate(name.replace(/\.yaml$/, ''), text)
    for (const agent of template.agents) {
      const skills = Object.keys(agent.skills ?? {}).map((file) => file.replace(/\.[jt]s$/, ''))
      const jobs = [...template.webhooks, ...template.schedules].filter((job) => job.agent === agent.id)
      const told = jobs.map((job) => ('instructions' in job ? job.instructions : (job.message ?? '')))
      const words = [agent.role, agent.instructions, ...told].join('\n')
      const fields = Object.keys(permissionRecordSchema.shape)
      const others = [...fields, ...skills, 'not_permissive', 'by_licence']
      expect([...toolsOf('worker'), ...others]).toEqual(expect.arrayContaining(namesIn(words)))
    }
  },
)
