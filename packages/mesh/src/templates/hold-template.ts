import { reservedAgentIds } from '@flotilla/protocol/reserved-ids'
import { isWeaker } from '@flotilla/protocol/isolation'
import { Problem } from '@flotilla/protocol/problem'
import type { PermissionGrants } from '../access/index.ts'
import { raisedPeriod } from '../access/index.ts'
import { defaultBudget } from '../agents/index.ts'
import type { SettingsFile } from '../config/index.ts'
import { namesMany, searchesByItself } from '../models/index.ts'
import type { StandingFleet } from './standing-fleet.ts'
import type { FleetTemplate, TemplateAgent } from './template-file.ts'

/**
 * What a template grants has the operator's ceiling, whoever applies it, and so has what it lets be spent: the file may come
 * from anywhere. Held against what a worker begins with, and for a budget against what stands where that is lower.
 * Problems `reserved-agent-id`, `unprocessable`.
 */
export function holdTemplate(
  template: FleetTemplate,
  grants: Pick<PermissionGrants, 'aboveOperatorCeiling'>,
  standing: StandingFleet,
): void {
  const refuse = (where: string, reason: string): never => {
    throw new Problem('unprocessable', { detail: `template ${template.name}, ${where}: ${reason}` })
  }
  for (const agent of template.agents) {
    // An operator with other case would be another agent with the operator's look.
    if (reservedAgentIds.includes(agent.id.toLowerCase())) throw new Problem('reserved-agent-id')
    const where = `agent ${agent.id}`
    const above = grants.aboveOperatorCeiling(agent.permissions ?? {})
    if (above !== null) refuse(where, above)
    const raised = raisedPeriod(defaultBudget, agent.budget ?? defaultBudget)
    if (raised) {
      refuse(where, `${raised.field}: ${raised.reason}, with flotilla budget ${agent.id} once it is there`)
    }
    const settings = aboveSettings(agent, standing)
    if (settings !== null) refuse(where, `settings.${settings.field}: ${settings.reason}`)
  }
  for (const { name, daily_usd: dailyUsd, monthly_usd: monthlyUsd } of template.projects) {
    const raised = raisedPeriod(standing.projectLimits(name), { dailyUsd, monthlyUsd })
    if (raised)
      refuse(`project ${name}`, `${raised.field}: ${raised.reason}, with flotilla budget project:${name}`)
  }
}

/**
 * What an owner alone lets an agent have by settings: all models of a provider or one that searches the web by itself, more
 * room on the disk than stands, hosts beyond a list that stands, and weaker walls. When it sleeps is anybody's. Null where
 * all is let through. Pure.
 */
export function aboveSettings(
  { id, settings = {} }: Pick<TemplateAgent, 'id' | 'settings'>,
  standing: Pick<StandingFleet, 'settingsOf' | 'dataLimitMb' | 'isolation'>,
): { readonly field: keyof typeof settings; readonly reason: string } | null {
  const now = standing.settingsOf(id)
  const open = settings.models?.find(
    (name) => (namesMany(name) || searchesByItself(name)) && now.models?.includes(name) !== true,
  )
  if (open !== undefined) {
    const what = namesMany(open) ? 'means many models' : 'may search the web by itself'
    return {
      field: 'models',
      reason: `${open} ${what}, which the owner allows in agents.${id}.models of config/settings.json`,
    }
  }
  const roomMb = standing.dataLimitMb(id)
  if ((settings.data_limit_mb ?? 0) > roomMb) {
    return {
      field: 'data_limit_mb',
      reason: `it has ${roomMb} here, and more is the owner's to give in agents.${id}.data_limit_mb of config/settings.json`,
    }
  }
  const { rung, mode } = standing.isolation(id)
  if (settings.isolation !== undefined && isWeaker(settings.isolation, rung)) {
    return {
      field: 'isolation',
      reason: `it has ${rung} here, and less is the owner's to say in agents.${id}.isolation of config/settings.json`,
    }
  }
  if (settings.isolation_mode === 'preferred' && mode === 'required') {
    return {
      field: 'isolation_mode',
      reason: `it is required here, and less is the owner's to say in agents.${id}.isolation_mode of config/settings.json`,
    }
  }
  const hosts = now.allowed_hosts ?? ['*']
  const beyond = hosts.includes('*')
    ? undefined
    : settings.allowed_hosts?.find((host) => !hosts.includes(host))
  if (beyond === undefined) return null
  return {
    field: 'allowed_hosts',
    reason: `${beyond} is not on the list that it has, which the owner makes longer in egress.allowed_hosts.${id} of config/settings.json`,
  }
}

/** Problem `unprocessable` where the template has settings of agents and the file that they go into is broken. */
export function requireWholeSettings(
  { agents }: FleetTemplate,
  settingsFile: Pick<SettingsFile, 'broken'>,
): void {
  const broken = agents.some(({ settings }) => settings !== undefined) ? settingsFile.broken() : null
  if (broken === null) return
  throw new Problem('unprocessable', {
    detail: `the settings of this template's agents go into a file that is broken: ${broken}`,
    repair:
      'Mend config/settings.json; the mesh reads it again within a second, and its log says whether it is whole.',
  })
}
