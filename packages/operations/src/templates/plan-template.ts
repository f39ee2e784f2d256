import { createHash } from 'node:crypto'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PlanItem, TemplatePlan } from '@flotilla/protocol/templates-api'
import { defaultBudget } from '@flotilla/fleet/agents'
import type { AgentRewrite, NewAgent } from '@flotilla/fleet/agents'
import type { AgentSettings } from '@flotilla/foundation/config'
import type { ProjectTexts } from '@flotilla/collaboration/projects'
import type { CronJob } from '@flotilla/inbound/triggers/cron'
import type { Hook, HookWish } from '@flotilla/inbound/triggers/webhook'
import { changesOf, itemOf, textOf } from './plan-item.ts'
import { planWatchers } from './plan-watchers.ts'
import type { WatcherPlan } from './plan-watchers.ts'
import { scheduleFields } from './current-fleet.ts'
import type { CurrentAgent, CurrentFleet } from './current-fleet.ts'
import type {
  FleetTemplate,
  TemplateAgent,
  TemplateProject,
  TemplateSchedule,
  TemplateWatch,
  TemplateWebhook,
} from './template-file.ts'

export type CreatedAgent = NewAgent & { readonly files: Readonly<Record<string, string>> }
export type JobWish = Omit<CronJob, 'created_by' | 'created_at'>

/** The effects of an application, and the plan that describes them. */
export interface Planned {
  readonly plan: TemplatePlan
  readonly created: readonly CreatedAgent[]
  readonly changed: readonly AgentRewrite[]
  /** Permission fields by agent, of created and changed agents. */
  readonly permissions: ReadonlyMap<string, Partial<PermissionRecord>>
  /** Changes in the owner's settings, by agent. */
  readonly settings: ReadonlyMap<string, AgentSettings>
  /** The schedule of each agent's heartbeat; null disables the heartbeat. */
  readonly heartbeats: ReadonlyMap<string, string | null>
  readonly jobs: readonly JobWish[]
  readonly hooks: readonly HookWish[]
  readonly watches: readonly TemplateWatch[]
  readonly watchers: readonly WatcherPlan['change'][]
  readonly projects: readonly {
    readonly name: string
    readonly dailyUsd: number | null
    readonly monthlyUsd: number | null
    /** The texts that the template contains. */
    readonly texts: Partial<ProjectTexts>
  }[]
}

export interface PlanOptions {
  /** If true, existing objects stay unchanged. */
  readonly onlyNew?: boolean
  /** If true, the caller may not create webhooks, and the plan lists them for another person. */
  readonly hooksByHand?: boolean
}

/**
 * Computes the effect of a template on a fleet. Missing agents are created; for existing ones, each field in the
 * template is set. Nothing is removed, and fields outside the template stay. With `onlyNew`, existing objects stay
 * unchanged. Throws Problem `conflict` for conflicting objects. Pure.
 */
export function planTemplate(
  template: FleetTemplate,
  current: CurrentFleet,
  { onlyNew = false, hooksByHand = false }: PlanOptions = {},
): Planned {
  const drafts = template.agents.map((agent) => draftAgent(agent, current))
  const jobs = template.schedules.map((one) => draftJob(one, current))
  const hooks = template.webhooks.map((one) => draftHook(one, current, hooksByHand))
  const watches = template.watches.map((one) => draftWatch(one, current))
  const watchers = planWatchers(template.watchers, current.watchers())
  const projects = template.projects.map((one) => draftProject(one, current))
  const counts = ({ item: { action } }: Draft) => action === 'create' || (action === 'change' && !onlyNew)
  const agents = drafts.filter(counts)
  const items = [...projects, ...drafts, ...jobs, ...hooks, ...watches, ...watchers].map((draft) =>
    counts(draft) || draft.item.action === 'by-hand'
      ? draft.item
      : { ...draft.item, action: 'keep' as const, changes: [] },
  )
  const named = { name: template.name, description: template.description, items }
  const digest = createHash('sha256')
    .update(JSON.stringify([template, items]))
    .digest('hex')
    .slice(0, 32)
  return {
    plan: { ...named, digest },
    created: agents.flatMap(({ create }) => (create ? [create] : [])),
    changed: agents.flatMap(({ change }) => (change ? [change] : [])),
    permissions: new Map(agents.flatMap(({ permissions }) => (permissions ? [permissions] : []))),
    settings: new Map(agents.flatMap(({ settings }) => (settings ? [settings] : []))),
    heartbeats: new Map(agents.flatMap(({ heartbeat }) => (heartbeat ? [heartbeat] : []))),
    jobs: jobs.filter(counts).map(({ job }) => job),
    hooks: hooks.filter(counts).map(({ hook }) => hook),
    watches: watches.filter(counts).map(({ watch }) => watch),
    watchers: watchers.filter(counts).map(({ change }) => change),
    projects: projects.filter(counts).map(({ project }) => project),
  }
}

interface Draft {
  readonly item: PlanItem
}

interface AgentDraft extends Draft {
  readonly create?: CreatedAgent
  readonly change?: AgentRewrite
  readonly permissions?: readonly [string, Partial<PermissionRecord>]
  readonly settings?: readonly [string, AgentSettings]
  readonly heartbeat?: readonly [string, string | null]
}

function budgetText({
  dailyUsd,
  monthlyUsd,
}: {
  dailyUsd: number | null
  monthlyUsd: number | null
}): string {
  const usd = (limit: number | null) => (limit === null ? 'no limit' : `${limit}`)
  return `USD ${usd(dailyUsd)} a day, ${usd(monthlyUsd)} a month`
}

const heartbeatText = (schedule: string | null | undefined) => schedule ?? 'off'

/** The files and skills of an agent, by path below /data. */
function filesOf({ files = {}, skills = {} }: TemplateAgent): Readonly<Record<string, string>> {
  const made = Object.entries(skills).map(([name, source]) => [`skills/${name}`, source])
  return { ...files, ...Object.fromEntries(made) }
}

function draftAgent(agent: TemplateAgent, fleet: CurrentFleet): AgentDraft {
  const existing: CurrentAgent | null = fleet.agent(agent.id)
  const files = filesOf(agent)
  const desired = {
    role: sanitizeForPrompt(agent.role),
    model: agent.model,
    instructions: sanitizeForPrompt(agent.instructions),
    budget: agent.budget && budgetText(agent.budget),
    project: agent.project,
    heartbeat: agent.heartbeat === undefined ? undefined : heartbeatText(agent.heartbeat),
    mcpServers: agent.mcpServers,
    ...prefixed('permissions.', agent.permissions ?? {}),
    ...prefixed('settings.', agent.settings ?? {}),
    ...prefixed('/data/', files),
  }
  if (!existing) return draftNewcomer(agent, desired)
  const { permissions = {}, settings = {} } = agent
  const { record } = existing
  const changes = changesOf(
    {
      role: record.role,
      model: record.model,
      instructions: record.instructions,
      budget: budgetText(record.budget ?? defaultBudget),
      project: record.project,
      heartbeat: heartbeatText(existing.heartbeat?.enabled === true ? existing.heartbeat.schedule : null),
      mcpServers: existing.mcpServers,
      ...prefixed('permissions.', existing.permissions),
      ...prefixed('settings.', fleet.settingsOf(agent.id)),
      ...prefixed('/data/', existing.files),
    },
    desired,
  )
  const named = new Set(changes.map(({ field }) => field))
  const pick = <T>(field: string, value: T | undefined): T | undefined =>
    named.has(field) ? value : undefined
  const newFiles = Object.fromEntries(Object.entries(files).filter(([path]) => named.has(`/data/${path}`)))
  const newFields = Object.fromEntries(
    Object.entries(permissions).filter(([name]) => named.has(`permissions.${name}`)),
  )
  const newSettings: AgentSettings = Object.fromEntries(
    Object.entries(settings).filter(([name]) => named.has(`settings.${name}`)),
  )
  return {
    item: itemOf({ kind: 'agent', id: agent.id }, true, changes),
    change: withoutUndefined({
      id: agent.id,
      role: pick('role', agent.role),
      model: pick('model', agent.model),
      instructions: pick('instructions', agent.instructions),
      budget: pick('budget', agent.budget),
      project: pick('project', agent.project),
      mcpServers: pick('mcpServers', agent.mcpServers),
      files: newFiles,
    }),
    ...(Object.keys(newFields).length === 0 ? {} : { permissions: [agent.id, newFields] }),
    ...(Object.keys(newSettings).length === 0 ? {} : { settings: [agent.id, newSettings] }),
    ...(named.has('heartbeat') ? { heartbeat: [agent.id, agent.heartbeat ?? null] } : {}),
  }
}

function draftNewcomer(agent: TemplateAgent, desired: Readonly<Record<string, unknown>>): AgentDraft {
  const { permissions = {}, settings = {}, ...rest } = agent
  const { role, instructions, model, budget, project, mcpServers, id } = rest
  return {
    item: itemOf({ kind: 'agent', id }, false, changesOf(null, desired)),
    create: { id, role, instructions, model, budget, project, mcpServers, files: filesOf(agent) },
    permissions: [id, permissions],
    ...(Object.keys(settings).length === 0 ? {} : { settings: [id, settings] }),
    heartbeat: [id, agent.heartbeat ?? null],
  }
}

type WithoutUndefined<T> = { [Key in keyof T]: Exclude<T[Key], undefined> }

function withoutUndefined<T extends { readonly id: string }>(
  record: T,
): WithoutUndefined<Partial<T>> & { id: string } {
  return Object.fromEntries(
    Object.entries(record).filter(([, value]) => value !== undefined),
  ) as WithoutUndefined<Partial<T>> & { id: string } // All undefined values were removed.
}

function prefixed(prefix: string, record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [`${prefix}${name}`, value]))
}

function draftJob(wish: TemplateSchedule, current: CurrentFleet): Draft & { readonly job: JobWish } {
  const known = current.job(wish.id)
  if (known && (known.agent !== wish.agent || known.heartbeat)) {
    throw new Problem('conflict', {
      detail: `agent ${known.agent} already has a job ${wish.id}; give the schedule another id`,
    })
  }
  const { id, agent, message, tool_name, tool_params, when, ...always } = wish
  const job: JobWish = {
    ...always,
    schedule: wish.schedule.trim(),
    id,
    agent,
    heartbeat: false,
    ...(message === undefined ? {} : { message }),
    ...(tool_name === undefined ? {} : { tool_name }),
    ...(tool_params === undefined ? {} : { tool_params }),
    ...(when === undefined ? {} : { when }),
  }
  const desired = { agent, ...scheduleFields({ ...job, created_by: '', created_at: 0 }) }
  const before: Readonly<Record<string, unknown>> | null = known && { agent, ...scheduleFields(known) }
  const gone = before ? Object.keys(before).filter((field) => !(field in desired)) : []
  const changes = [
    ...changesOf(before, desired),
    ...gone.map((field) => ({ field, before: textOf(before?.[field]), after: '' })),
  ]
  return { item: itemOf({ kind: 'schedule', id }, known !== null, changes), job }
}

function draftHook(
  wish: TemplateWebhook,
  current: CurrentFleet,
  byHand: boolean,
): Draft & { readonly hook: HookWish } {
  const named = current.hooksOf(wish.agent).filter(({ name }) => name === wish.name)
  if (named.length > 1) {
    throw new Problem('conflict', {
      detail: `agent ${wish.agent} has ${named.length} webhooks called ${wish.name}; rename all but one`,
    })
  }
  const known = named[0] ?? null
  const hook: HookWish = {
    id: known?.id ?? null,
    name: wish.name,
    agentId: wish.agent,
    instructions: wish.instructions,
    when: wish.when ?? null,
    perMinute: wish.per_minute ?? null,
    repeats: wish.repeats,
    signed: wish.signed,
  }
  const changes = changesOf(
    known && hookFields(known),
    hookFields({ ...hook, secretNumber: wish.signed ? 1 : null }),
  )
  const item = itemOf({ kind: 'webhook', id: `${wish.agent}: ${wish.name}` }, known !== null, changes)
  return { item: byHand && item.action !== 'keep' ? { ...item, action: 'by-hand' } : item, hook }
}

function draftWatch(watch: TemplateWatch, current: CurrentFleet): Draft & { readonly watch: TemplateWatch } {
  const { agent, pattern, tell } = watch
  const before = current.watchesOf(agent).get(pattern)
  const changes = changesOf(before === undefined ? null : { tell: before }, { tell })
  return { item: itemOf({ kind: 'watch', id: `${agent}: ${pattern}` }, before !== undefined, changes), watch }
}

/** The fields of an existing webhook that a template can set. Pure. */
function hookFields(
  hook: Pick<Hook, 'instructions' | 'when' | 'perMinute' | 'repeats' | 'secretNumber'>,
): Readonly<Record<string, unknown>> {
  return {
    instructions: hook.instructions,
    when: hook.when,
    per_minute: hook.perMinute,
    repeats: hook.repeats,
    signed: hook.secretNumber !== null,
  }
}

function draftProject(wish: TemplateProject, current: CurrentFleet) {
  const { name, daily_usd: dailyUsd, monthly_usd: monthlyUsd, criteria = [], sections = {} } = wish
  const texts: Partial<ProjectTexts> = {
    ...(wish.goal === undefined ? {} : { goal: textOfProject(wish.goal) }),
    ...(wish.criteria === undefined ? {} : { criteria: criteria.map(sanitizeForPrompt) }),
    sections: Object.fromEntries(
      Object.entries(sections).map(([section, text]) => [section, textOfProject(text)]),
    ),
  }
  const project = { name, dailyUsd, monthlyUsd, texts }
  const limits = current.projectLimits(name)
  const known = current.projectTexts(name)
  const isThere = known !== null || limits.dailyUsd !== null || limits.monthlyUsd !== null
  const before = {
    budget: budgetText(limits),
    goal: known?.goal,
    criteria: known?.criteria,
    ...prefixed('section ', known?.sections ?? {}),
  }
  const desired = {
    budget: budgetText(project),
    goal: texts.goal,
    criteria: texts.criteria,
    ...prefixed('section ', texts.sections ?? {}),
  }
  const changes = changesOf(isThere ? before : null, desired)
  return { item: itemOf({ kind: 'project', id: name }, isThere, changes), project }
}

/** Normalizes the text to the form in which projects are stored. */
function textOfProject(text: string): string {
  return sanitizeForPrompt(text).trim()
}
