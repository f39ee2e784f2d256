import * as z from 'zod'
import { ofOneAgent } from './settings-file.ts'
import type { Settings } from './settings-file.ts'
import type { FieldEdit } from './watch-settings.ts'

/** The owner's settings about one agent, from all their places in the file; omitted fields are not set. */
export const agentSettingsSchema = z.strictObject({
  /** Models that the agent may use in addition to its own. */
  models: ofOneAgent.models.min(1).optional(),
  data_limit_mb: ofOneAgent.dataLimitMb.optional(),
  hibernate_after_minutes: ofOneAgent.hibernateAfter.optional(),
  /** The only hosts that the agent may reach. */
  allowed_hosts: ofOneAgent.allowedHosts.optional(),
  isolation: ofOneAgent.isolation.optional(),
  isolation_mode: ofOneAgent.isolationMode.optional(),
  /** How much the agent's models think, and the maximum length of their answers, in each kind of run. */
  answers: ofOneAgent.answers.optional(),
  /** Memory, processors, processes and /tmp of the agent's container. */
  size: ofOneAgent.size.optional(),
  /** Packages of apt, npm and pip in the agent's image. */
  packages: z.optional(ofOneAgent.packages),
  /** An image of the owner by name and digest, in place of the agent image. */
  image: z.optional(ofOneAgent.image),
  /** The program that drives the agent's runs; a change takes effect at the agent's next run. */
  harness: z.optional(ofOneAgent.harness),
})
export type AgentSettings = z.output<typeof agentSettingsSchema>

type Field = keyof AgentSettings

const placeOf: Readonly<Record<Field, (agentId: string) => readonly string[]>> = {
  models: (agentId) => ['agents', agentId, 'models'],
  data_limit_mb: (agentId) => ['agents', agentId, 'data_limit_mb'],
  hibernate_after_minutes: (agentId) => ['agents', agentId, 'hibernate_after_minutes'],
  allowed_hosts: (agentId) => ['egress', 'allowed_hosts', agentId],
  isolation: (agentId) => ['agents', agentId, 'isolation'],
  isolation_mode: (agentId) => ['agents', agentId, 'isolation_mode'],
  size: (agentId) => ['agents', agentId, 'size'],
  packages: (agentId) => ['agents', agentId, 'packages'],
  image: (agentId) => ['agents', agentId, 'image'],
  answers: (agentId) => ['agents', agentId, 'answers'],
  harness: (agentId) => ['agents', agentId, 'harness'],
}

/** A file without `models` means no additional models. Pure. */
export function agentSettingsOf({ agents, egress }: Settings, agentId: string): AgentSettings {
  const { models = [], ...others } = ownOf(agents, agentId) ?? {}
  const hosts = ownOf(egress.allowed_hosts, agentId)
  return {
    ...others,
    ...(models.length === 0 ? {} : { models }),
    ...(hosts === undefined ? {} : { allowed_hosts: hosts }),
  }
}

/**
 * The edits after which the settings of an agent equal `settings` in these fields; missing fields are removed. Pure.
 */
export function agentSettingEdits(
  agentId: string,
  fields: readonly string[],
  settings: AgentSettings,
): readonly FieldEdit[] {
  return agentSettingFields
    .filter((field) => fields.includes(field))
    .map((field) => ({ field: placeOf[field](agentId), value: settings[field] }))
}

const agentSettingFields = agentSettingsSchema.keyof().options

/** Own properties only, because an agent's id may be the name of a member that every object has. */
function ownOf<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined
}
