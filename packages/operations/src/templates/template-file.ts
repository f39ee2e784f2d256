import { watchPatternSchema } from '@flotilla/protocol/blackboard-api'
import { watchLimits, watchDeliveries } from '@flotilla/protocol/blackboard-limits'
import { cronLimits } from '@flotilla/protocol/cron-api'
import { heartbeatScheduleSchema } from '@flotilla/protocol/heartbeat-api'
import { agentIdSchema } from '@flotilla/protocol/ids'
import { jsonObjectSchema } from '@flotilla/protocol/json-value'
import { limits, templateLimits, wireLimits } from '@flotilla/protocol/limits'
import { mcpServersSchema } from '@flotilla/protocol/mcp-servers'
import { budgetSchema } from '@flotilla/protocol/mesh-human-api'
import { projectNameSchema } from '@flotilla/protocol/money-api'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import { sectionNameSchema } from '@flotilla/protocol/project-api'
import { projectLimits } from '@flotilla/protocol/project-limits'
import { webhookLimits } from '@flotilla/protocol/webhook-api'
import { parseDocument } from 'yaml'
import * as z from 'zod'
import { readFields } from '@flotilla/identity/access'
import { agentSettingsSchema } from '@flotilla/foundation/config'
import { reasonOf } from '@flotilla/fleet/sandbox'
import { watcherEntrySchema, watchesMax } from '@flotilla/inbound/triggers/watch'

/** The maximum number of alias expansions, so that a short file cannot expand to a huge one. */
const aliasesMax = 50
/** The maximum nesting of lists and maps. The format needs five, and each level uses stack space of the parser. */
const depthMax = 64
/** The maximum number of anchors, aliases and tags. The parser takes quadratic time on rows of them. */
const marksMax = 5000
export const templateNamePattern = /^[a-z0-9][a-z0-9-]{0,63}$/

/** Only fields that the file contains count; defaults are not added. */
const overridesSchema = z
  .record(z.string(), z.unknown())
  .transform((raw, context): Partial<PermissionRecord> => {
    try {
      return readFields(raw)
    } catch (error) {
      context.issues.push({ code: 'custom', message: reasonOf(error), input: raw })
      return z.NEVER
    }
  })

const oneLine = (maxChars: number) =>
  z
    .string()
    .min(1)
    .max(maxChars)
    .regex(/^[^\p{Cc}]+$/u, 'one line is expected')

/** A path below /data: names without spaces, no hidden names, and no `..`. */
const filePath = z
  .string()
  .max(200)
  .regex(
    /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*){0,7}$/,
    'a path consists of names of letters, digits, . _ - separated by /, such as input/kb/returns.md',
  )
const fileContent = z.string().max(templateLimits.fileContentMaxChars)
const filesSchema = z
  .record(filePath, fileContent)
  .refine(
    (files) => Object.keys(files).length <= templateLimits.filesPerAgentMax,
    `an agent has ${templateLimits.filesPerAgentMax} files at most`,
  )
const skillName = z.string().regex(/^[a-z][a-z0-9_-]{0,59}\.[jt]s$/, 'a skill is a file such as clean_csv.js')

const limitUsd = z.number().min(0).max(1_000_000).nullable().default(null)

const agentSchema = z.strictObject({
  id: agentIdSchema,
  role: z.string().min(1).max(500),
  model: z.string().min(1).max(200).optional(),
  instructions: z.string().max(limits.workspaceFileMaxChars['INSTRUCTIONS.md']),
  permissions: overridesSchema.optional(),
  project: z.optional(projectNameSchema),
  mcpServers: z.optional(mcpServersSchema),
  /** The schedule of the heartbeat, such as `every 30m`, or `off`. */
  heartbeat: z.union([z.literal('off').transform(() => null), heartbeatScheduleSchema]).optional(),
  budget: z
    .pipe(
      budgetSchema,
      z.transform((budget) => ({ dailyUsd: budget.daily_usd, monthlyUsd: budget.monthly_usd })),
    )
    .optional(),
  /** Further settings of the owner for this agent. */
  settings: agentSettingsSchema.optional(),
  /** Files that are placed below /data before the agent's first run, by path. */
  files: filesSchema.optional(),
  /** Skills of the agent: the source of each, by file name. */
  skills: z.record(skillName, fileContent).optional(),
})

const webhookSchema = z.strictObject({
  name: oneLine(webhookLimits.nameMaxChars),
  agent: agentIdSchema,
  instructions: z.string().max(webhookLimits.instructionsMaxChars).default(''),
  when: z.string().min(1).max(webhookLimits.whenMaxChars).optional(),
  per_minute: z.number().int().min(1).max(webhookLimits.perMinuteMax).optional(),
  /** True if each delivery must carry a signature; applying the template generates the secret. */
  signed: z.boolean().default(true),
  repeats: z.enum(['refuse', 'accept']).default('refuse'),
})

const scheduleSchema = z.strictObject({
  id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'an id is 1 to 64 letters, digits, _ and -'),
  agent: agentIdSchema,
  schedule: z.string().min(1).max(cronLimits.scheduleMaxChars),
  timezone: z.string().max(64).default('UTC'),
  enabled: z.boolean().default(true),
  suppress_empty: z.boolean().default(true),
  message: z.string().min(1).max(wireLimits.chatMessageMaxChars).optional(),
  tool_name: z.string().min(1).max(128).optional(),
  tool_params: z.optional(jsonObjectSchema),
  when: z.string().min(1).max(cronLimits.whenMaxChars).optional(),
})

/** A notification of an agent about blackboard keys that others write. */
const watchSchema = z.strictObject({
  agent: agentIdSchema,
  pattern: z.pipe(z.string(), watchPatternSchema),
  tell: z.enum(watchDeliveries).default('run'),
})

/** The goal of a project and its budget; null for no limit. */
const projectSchema = z.strictObject({
  name: projectNameSchema,
  daily_usd: limitUsd,
  monthly_usd: limitUsd,
  goal: z.string().max(projectLimits.goalMaxChars).optional(),
  /** The criteria by which the goal counts as reached. */
  criteria: z
    .array(z.string().min(1).max(projectLimits.criterionMaxChars))
    .max(projectLimits.criteriaMax)
    .optional(),
  /** The sections of the context, by name. */
  sections: z
    .record(sectionNameSchema, z.string().min(1).max(projectLimits.sectionMaxChars))
    .refine(
      (sections) => Object.keys(sections).length <= projectLimits.sectionsMax,
      `a project has ${projectLimits.sectionsMax} sections at most`,
    )
    .optional(),
})

const templateSchema = z
  .strictObject({
    name: z.string().regex(templateNamePattern),
    description: z.string().min(1).max(2000),
    projects: z.array(projectSchema).max(templateLimits.agentsMax).default([]),
    agents: z.array(agentSchema).min(1).max(templateLimits.agentsMax),
    webhooks: z.array(webhookSchema).max(templateLimits.webhooksMax).default([]),
    schedules: z.array(scheduleSchema).max(templateLimits.schedulesMax).default([]),
    watches: z.array(watchSchema).max(watchLimits.max).default([]),
    /** Folders of the machine, as in `config/watchers.yaml`. Only an owner may apply them. */
    watchers: z.array(watcherEntrySchema).max(watchesMax).default([]),
  })
  .check((context) => {
    for (const message of faultsOf(context.value)) {
      context.issues.push({ code: 'custom', message, input: context.value })
    }
  })

/** A group of workers with everything that belongs to them, as described by a file. */
export type FleetTemplate = z.output<typeof templateSchema>
export type TemplateAgent = FleetTemplate['agents'][number]
export type TemplateProject = FleetTemplate['projects'][number]
export type TemplateWebhook = FleetTemplate['webhooks'][number]
export type TemplateSchedule = FleetTemplate['schedules'][number]
export type TemplateWatch = FleetTemplate['watches'][number]
export type TemplateWatcher = FleetTemplate['watchers'][number]

/** Errors across several parts of a template. Pure. */
function faultsOf(template: {
  readonly projects: readonly { readonly name: string }[]
  readonly agents: readonly { readonly id: string }[]
  readonly webhooks: readonly { readonly agent: string; readonly name: string }[]
  readonly schedules: readonly { readonly id: string; readonly agent: string }[]
  readonly watches: readonly { readonly agent: string; readonly pattern: string }[]
  readonly watchers: readonly { readonly agent: string }[]
}): string[] {
  const ids = template.agents.map(({ id }) => id)
  const others = [...template.webhooks, ...template.schedules, ...template.watches, ...template.watchers]
  const strangers = others.find(({ agent }) => !ids.includes(agent))
  return [
    ...(isDouble(ids) ? ['two agents have the same id'] : []),
    ...(isDouble(template.projects.map(({ name }) => name)) ? ['a project is listed twice'] : []),
    ...(isDouble(template.schedules.map(({ id }) => id)) ? ['two schedules have the same id'] : []),
    ...(isDouble(template.webhooks.map(({ agent, name }) => `${agent} ${name}`))
      ? ['an agent has two webhooks with the same name']
      : []),
    ...(isDouble(template.watches.map(({ agent, pattern }) => `${agent} ${pattern}`))
      ? ['an agent watches the same pattern twice']
      : []),
    // Other agents get no work from a template: they trust such work more than a file of any source deserves.
    ...(strangers ? [`${strangers.agent} is not an agent of this template`] : []),
  ]
}

function isDouble(names: readonly string[]): boolean {
  return new Set(names).size !== names.length
}

/**
 * Throws Problem `unprocessable` with the reason. Length and depth are checked before parsing, and alias expansion is
 * bounded, because the file may come from any source.
 */
export function parseTemplate(name: string | null, text: string): FleetTemplate {
  const called = name ?? 'file'
  const broken = (reason: string) =>
    new Problem('unprocessable', { detail: `template ${called}: ${reason}`, extra: { template: called } })
  if (text.length > templateLimits.fileMaxChars)
    throw broken(`the template is longer than ${templateLimits.fileMaxChars} characters`)
  if ((text.match(/(?:^|[\s,[{:])[&!*]/g)?.length ?? 0) > marksMax)
    throw broken(`the template has more than ${marksMax} anchors, aliases and tags`)
  if (isDeep(text))
    throw broken(`the lists and maps of the template are nested deeper than ${depthMax} levels`)
  let content: unknown
  try {
    const document = parseDocument(text, { uniqueKeys: true, schema: 'core' })
    // A warning means that the parser ignored something, for example a tag.
    const complaint = [...document.errors, ...document.warnings][0]
    if (complaint) throw new Error(complaint.message)
    content = document.toJS({ maxAliasCount: aliasesMax })
  } catch (error) {
    throw broken(reasonOf(error))
  }
  const parsed = templateSchema.safeParse(content)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw broken(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'the file is not a template'}`)
  }
  if (name !== null && parsed.data.name !== name)
    throw broken(`the field name in the file is ${parsed.data.name}, which differs`)
  return parsed.data
}

/**
 * True if parsing would nest deeper than any template needs. Counts brackets, and consecutive marks at the beginning
 * of a line. Texts in the file count too, where such rows of marks are rare. Pure.
 */
export function isDeep(text: string): boolean {
  let open = 0
  for (const line of text.split('\n')) {
    const marks = /^(?:\s*(?:[-?:](?=\s|$)|[&!*][^\s,[\]{}]*))*/.exec(line)?.[0] ?? ''
    if ((marks.match(/[-?:](?=\s|$)/g)?.length ?? 0) > depthMax) return true
    for (const letter of line) {
      if (letter === '[' || letter === '{') open += 1
      if (letter === ']' || letter === '}') open = Math.max(0, open - 1)
      if (open > depthMax) return true
    }
  }
  return false
}
