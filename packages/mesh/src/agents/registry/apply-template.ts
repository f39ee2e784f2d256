import { reservedAgentIds } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard, PermissionGrants } from '../../access/index.ts'
import { raisedPeriod } from '../../access/index.ts'
import type { AgentTable } from './agent-table.ts'
import { defaultBudget } from './create-agent.ts'
import type { CreateAgent } from './create-agent.ts'
import type { FleetTemplate, FleetTemplates } from './templates.ts'

export interface AppliedTemplate {
  readonly created: readonly string[]
  readonly existing: readonly string[]
}

export type ApplyTemplate = (caller: Caller, name: string) => Promise<AppliedTemplate>

/**
 * Creates those agents of a template that do not exist; existing ones stay as they are. What a template grants has
 * the operator's ceiling, whoever applies it, and so has what it lets be spent: the file may come from anywhere. Problems `denied`, `not-found`,
 * `unprocessable`. One that broke off can be applied again.
 */
export function applyTemplate(deps: {
  readonly guard: Guard
  readonly grants: PermissionGrants
  readonly templates: FleetTemplates
  readonly agents: AgentTable
  readonly create: CreateAgent
}): ApplyTemplate {
  return async (caller, name) => {
    deps.guard(caller, { do: 'manage-fleet' })
    const template = await deps.templates.read(name)
    requireModest(template, deps.grants)
    const created: string[] = []
    const existing: string[] = []
    for (const agent of template.agents) {
      if (deps.agents.find(agent.id)) existing.push(agent.id)
      else {
        await deps.create(caller, agent)
        created.push(agent.id)
      }
    }
    return { created, existing }
  }
}

function requireModest(template: FleetTemplate, grants: PermissionGrants): void {
  for (const agent of template.agents) {
    if (reservedAgentIds.includes(agent.id)) throw new Problem('reserved-agent-id')
    const above = grants.aboveOperatorCeiling(agent.permissions ?? {})
    const where = `template ${template.name}, agent ${agent.id}`
    if (above !== null) throw new Problem('unprocessable', { detail: `${where}: ${above}` })
    const raised = raisedPeriod(defaultBudget, agent.budget ?? defaultBudget)
    if (raised) {
      throw new Problem('unprocessable', {
        detail: `${where}: ${raised.field}: ${raised.reason}, with flotilla budget ${agent.id} once it is there`,
      })
    }
  }
}
