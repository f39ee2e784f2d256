import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { agentIdSchema } from '@flotilla/protocol/ids'
import { limits } from '@flotilla/protocol/limits'
import { mcpServersSchema } from '@flotilla/protocol/mcp-servers'
import { heartbeatScheduleSchema } from '@flotilla/protocol/heartbeat-api'
import { budgetSchema } from '@flotilla/protocol/mesh-human-api'
import { projectNameSchema } from '@flotilla/protocol/money-api'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import { parseDocument } from 'yaml'
import * as z from 'zod'
import { readTextFile } from '../../config/index.ts'
import { readFields } from '../../access/index.ts'
import { reasonOf } from '../../sandbox/index.ts'
import type { NewAgent } from './create-agent.ts'

const templateMaxChars = 256 * 1024
const templateAgentsMax = 50
/** Repeats through anchors; more would let a short file unfold into a huge one. */
const aliasesMax = 50
const namePattern = /^[a-z0-9][a-z0-9-]{0,63}$/

/** A ready group of workers, as a file describes it. */
export interface FleetTemplate {
  readonly name: string
  readonly description: string
  readonly agents: readonly NewAgent[]
}

export interface FleetTemplates {
  /** Names of all templates, in order. */
  names(): Promise<readonly string[]>
  /** Problem `not-found` when there is none, `unprocessable` with the reason when it is broken. */
  read(name: string): Promise<FleetTemplate>
}

/** Only fields that are written down count. */
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

const templateSchema = z.strictObject({
  name: z.string().regex(namePattern),
  description: z.string().min(1).max(2000),
  agents: z
    .array(
      z.strictObject({
        id: agentIdSchema,
        role: z.string().min(1).max(500),
        model: z.string().min(1).max(200).optional(),
        instructions: z.string().max(limits.workspaceFileMaxChars['INSTRUCTIONS.md']),
        permissions: overridesSchema.optional(),
        project: z.optional(projectNameSchema),
        mcpServers: z.optional(mcpServersSchema),
        /** `every 30m`, or `off`. */
        heartbeat: z.union([z.literal('off').transform(() => null), heartbeatScheduleSchema]).optional(),
        budget: z
          .pipe(
            budgetSchema,
            z.transform((budget) => ({ dailyUsd: budget.daily_usd, monthlyUsd: budget.monthly_usd })),
          )
          .optional(),
      }),
    )
    .min(1)
    .max(templateAgentsMax)
    .refine(
      (agents) => new Set(agents.map((agent) => agent.id)).size === agents.length,
      'two agents have one id',
    ),
})

/** Templates below `folders`; the owner's folder first, so that an owner's file replaces one of ours. */
export function createTemplates(folders: readonly string[]): FleetTemplates {
  return {
    names: async () => {
      const found = await Promise.all(folders.map((folder) => namesIn(folder)))
      return [...new Set(found.flat())].sort()
    },
    read: async (name) => {
      // Only such names are ever joined to a folder, so none leads out of it.
      if (!namePattern.test(name))
        throw new Problem('not-found', { detail: 'there is no template of this name' })
      for (const folder of folders) {
        const text = await readTextFile(join(folder, `${name}.yaml`))
        if (text !== null) return parseTemplate(name, text)
      }
      throw new Problem('not-found', { detail: `there is no template ${name}` })
    },
  }
}

/** Problem `unprocessable` with the reason. */
export function parseTemplate(name: string, text: string): FleetTemplate {
  const broken = (reason: string) =>
    new Problem('unprocessable', { detail: `template ${name}: ${reason}`, extra: { template: name } })
  if (text.length > templateMaxChars) throw broken(`it is longer than ${templateMaxChars} characters`)
  const document = parseDocument(text, { uniqueKeys: true, schema: 'core' })
  // A warning is something that the file means and the parser does not know, a tag for example.
  const complaint = [...document.errors, ...document.warnings][0]
  if (complaint) throw broken(complaint.message)
  let content: unknown
  try {
    content = document.toJS({ maxAliasCount: aliasesMax })
  } catch (error) {
    throw broken(reasonOf(error))
  }
  const parsed = templateSchema.safeParse(content)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw broken(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not a template'}`)
  }
  if (parsed.data.name !== name) throw broken(`it calls itself ${parsed.data.name}`)
  return parsed.data
}

async function namesIn(folder: string): Promise<string[]> {
  const files = await readdir(folder).catch(() => [])
  return files
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.slice(0, -'.yaml'.length))
    .filter((name) => namePattern.test(name))
}
