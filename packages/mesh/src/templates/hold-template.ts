import { reservedAgentIds } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import type { PermissionGrants } from '../access/index.ts'
import { raisedPeriod } from '../access/index.ts'
import { defaultBudget } from '../agents/index.ts'
import type { StandingFleet } from './standing-fleet.ts'
import type { FleetTemplate } from './template-file.ts'

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
  }
  for (const { name, daily_usd: dailyUsd, monthly_usd: monthlyUsd } of template.projects) {
    const raised = raisedPeriod(standing.projectLimits(name), { dailyUsd, monthlyUsd })
    if (raised)
      refuse(`project ${name}`, `${raised.field}: ${raised.reason}, with flotilla budget project:${name}`)
  }
}
