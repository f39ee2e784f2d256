import { isDeepStrictEqual } from 'node:util'
import { joinPackages } from '@flotilla/protocol/agent-packages'
import { reservedAgentIds } from '@flotilla/protocol/reserved-ids'
import { isWeaker } from '@flotilla/protocol/isolation'
import { Problem } from '@flotilla/protocol/problem'
import type { PermissionGrants } from '@flotilla/identity/access'
import { raisedPeriod, requireAtTerminal } from '@flotilla/identity/access'
import type { Caller } from '@flotilla/identity/access'
import { defaultBudget } from '@flotilla/fleet/agents'
import { agentSize } from '@flotilla/fleet/sandbox'
import type { AgentSize } from '@flotilla/fleet/sandbox'
import type { AgentSettings, SettingsFile } from '@flotilla/foundation/config'
import { namesMany, searchesByItself } from '@flotilla/inference/models'
import type { CurrentFleet } from './current-fleet.ts'
import type { FleetTemplate, TemplateAgent } from './template-file.ts'

/**
 * What a template grants and lets agents spend is limited by the operator's ceiling for every caller, because the
 * file may come from any source. Compared with the defaults of a worker, and for budgets with the current value where
 * that is lower. Throws the Problems `reserved-agent-id` and `unprocessable`.
 */
export function holdTemplate(
  template: FleetTemplate,
  grants: Pick<PermissionGrants, 'aboveOperatorCeiling'>,
  current: CurrentFleet,
): void {
  const refuse = (where: string, reason: string): never => {
    throw new Problem('unprocessable', { detail: `template ${template.name}, ${where}: ${reason}` })
  }
  for (const agent of template.agents) {
    // An id that differs from the operator's only in case would look like the operator.
    if (reservedAgentIds.includes(agent.id.toLowerCase())) throw new Problem('reserved-agent-id')
    const where = `agent ${agent.id}`
    const above = grants.aboveOperatorCeiling(agent.permissions ?? {})
    if (above !== null) refuse(where, above)
    const raised = raisedPeriod(defaultBudget, agent.budget ?? defaultBudget)
    if (raised) {
      refuse(
        where,
        `${raised.field}: ${raised.reason}, with flotilla budget ${agent.id} after it was created`,
      )
    }
    const settings = aboveSettings(agent, current)
    if (settings !== null) refuse(where, `settings.${settings.field}: ${settings.reason}`)
  }
  for (const { name, daily_usd: dailyUsd, monthly_usd: monthlyUsd } of template.projects) {
    const raised = raisedPeriod(current.projectLimits(name), { dailyUsd, monthlyUsd })
    if (raised)
      refuse(`project ${name}`, `${raised.field}: ${raised.reason}, with flotilla budget project:${name}`)
  }
}

/**
 * The settings that only an owner may grant: all models of a provider or a model that searches the web, a larger disk
 * limit, hosts outside an existing list, and a weaker isolation level. The hibernation settings are free. Null if
 * everything is allowed. Pure.
 */
export function aboveSettings(
  { id, settings = {} }: Pick<TemplateAgent, 'id' | 'settings'>,
  current: Pick<CurrentFleet, 'settingsOf' | 'dataLimitMb' | 'isolation'>,
): { readonly field: keyof typeof settings; readonly reason: string } | null {
  const now = current.settingsOf(id)
  const open = settings.models?.find(
    (name) => (namesMany(name) || searchesByItself(name)) && now.models?.includes(name) !== true,
  )
  if (open !== undefined) {
    const what = namesMany(open) ? 'matches several models' : 'can search the web by itself'
    return {
      field: 'models',
      reason: `${open} ${what}, which the owner allows in agents.${id}.models of config/settings.json`,
    }
  }
  const roomMb = current.dataLimitMb(id)
  if ((settings.data_limit_mb ?? 0) > roomMb) {
    return {
      field: 'data_limit_mb',
      reason: `the limit of the agent here is ${roomMb}, and only the owner can raise it in agents.${id}.data_limit_mb of config/settings.json`,
    }
  }
  const { rung, mode } = current.isolation(id)
  if (settings.isolation !== undefined && isWeaker(settings.isolation, rung)) {
    return {
      field: 'isolation',
      reason: `the isolation level of the agent here is ${rung}, and only the owner can lower it in agents.${id}.isolation of config/settings.json`,
    }
  }
  if (settings.isolation_mode === 'preferred' && mode === 'required') {
    return {
      field: 'isolation_mode',
      reason: `isolation is required for the agent here, and only the owner can change that in agents.${id}.isolation_mode of config/settings.json`,
    }
  }
  const hosts = now.allowed_hosts ?? ['*']
  const beyond = hosts.includes('*')
    ? undefined
    : settings.allowed_hosts?.find((host) => !hosts.includes(host))
  if (beyond === undefined) return null
  return {
    field: 'allowed_hosts',
    reason: `the hosts allowed to the agent do not include ${beyond}, and only the owner can add hosts in egress.allowed_hosts.${id} of config/settings.json`,
  }
}

/**
 * Returns what settings give to an agent that only an owner may give, as words for a refusal: packages, a larger size,
 * an image, and a harness, whose program runs in the container with the tokens of the agent. Empty if they give nothing of it. Pure.
 */
export function ownerGifts(
  id: string,
  settings: AgentSettings,
  current: Pick<CurrentFleet, 'settingsOf'>,
): readonly string[] {
  const before = current.settingsOf(id)
  const now = joinPackages([before.packages ?? {}])
  const then = joinPackages([settings.packages ?? {}])
  const adds = (['apt', 'npm', 'pip'] as const).some((from) =>
    then[from].some((name) => !now[from].includes(name)),
  )
  const grows =
    settings.size !== undefined &&
    isLarger(agentSize('worker', settings.size), agentSize('worker', before.size))
  const drives = settings.harness !== undefined && !isDeepStrictEqual(settings.harness, before.harness)
  const replaces = settings.image !== undefined && settings.image !== before.image
  return [
    ...(replaces ? ['choose the image of an agent'] : []),
    ...(adds ? ['add packages to the image of an agent'] : []),
    ...(grows ? ['give an agent a larger size'] : []),
    ...(drives ? ['choose the program that drives an agent'] : []),
  ]
}

/** Throws Problem `human-only` if anyone but an owner would give an agent what `ownerGifts` names. */
export function requireMayGive(
  caller: Caller,
  { agents }: Pick<FleetTemplate, 'agents'>,
  current: Pick<CurrentFleet, 'settingsOf'>,
): void {
  for (const { id, settings = {} } of agents)
    for (const gift of ownerGifts(id, settings, current)) requireAtTerminal(caller, gift)
}

function isLarger(one: AgentSize, other: AgentSize): boolean {
  return (
    one.memoryLimitBytes > other.memoryLimitBytes ||
    one.cpu.quotaUs > other.cpu.quotaUs ||
    one.pidsLimit > other.pidsLimit ||
    one.tmpSizeBytes > other.tmpSizeBytes
  )
}

/** Throws Problem `unprocessable` if the template has settings of agents and config/settings.json is broken. */
export function requireWholeSettings(
  { agents }: FleetTemplate,
  settingsFile: Pick<SettingsFile, 'broken'>,
): void {
  const broken = agents.some(({ settings }) => settings !== undefined) ? settingsFile.broken() : null
  if (broken === null) return
  throw new Problem('unprocessable', {
    detail: `the template contains settings, but config/settings.json is invalid: ${broken}`,
    repair:
      'Correct config/settings.json. The mesh reads the file again within a second and logs the result.',
  })
}
