import type { McpServers } from '@flotilla/protocol/mcp-servers'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf, requireAtTerminal } from '@flotilla/identity/access'
import type { AgentContext } from '../lifecycle/agent-context.ts'
import { changeAgent } from './change-agent.ts'
import type { AgentBudget } from '../registry/agent-record.ts'
import { insertAgent, requireFreeId, requireRoom, workerRecord } from './create-agent.ts'
import type { NewAgent, RequireModel } from './create-agent.ts'

/** Changes to an existing agent; omitted fields are unchanged. */
export interface AgentRewrite {
  readonly id: string
  readonly role?: string
  readonly model?: string
  readonly instructions?: string
  readonly budget?: AgentBudget
  readonly project?: string
  readonly mcpServers?: McpServers
  readonly files?: Readonly<Record<string, string>>
}

type CreatedAgent = NewAgent & { readonly files: Readonly<Record<string, string>> }

/**
 * Writes the rows of several agents together. `requireMay` checks all that creating or changing each agent requires,
 * except for the ceilings of permissions and budgets, which the caller checks. `inTurns` runs `work` while no other
 * operation changes these agents. `rows` joins the caller's transaction. Problems as for `createAgent`.
 */
export interface WriteAgents {
  requireMay(caller: Caller, agents: readonly (NewAgent | AgentRewrite)[]): void
  inTurns<T>(agentIds: readonly string[], work: () => Promise<T>): Promise<T>
  rows(
    caller: Caller,
    agents: { readonly created: readonly CreatedAgent[]; readonly changed: readonly AgentRewrite[] },
  ): void
}

export function writeAgents(deps: {
  readonly guard: Guard
  readonly context: AgentContext
  readonly requireModel: RequireModel
}): WriteAgents {
  const { context, guard } = deps
  const change = changeAgent(context)

  function inTurns<T>(agentIds: readonly string[], work: () => Promise<T>): Promise<T> {
    // Agents are locked in sorted order, so that two callers that lock the same agents cannot deadlock.
    const [first, ...rest] = [...new Set(agentIds)].toSorted()
    if (first === undefined) return work()
    return context.mutex.take(first, () => inTurns(rest, work))
  }

  return {
    inTurns,
    requireMay: (caller, agents) => {
      guard(caller, { do: 'manage-fleet' })
      for (const agent of agents) {
        if (!context.agents.find(agent.id)) requireFreeId(agent.id)
        if (agent.project !== undefined) guard(caller, { do: 'manage-projects' })
        if (agent.model !== undefined) deps.requireModel(caller, { agentId: agent.id, model: agent.model })
        if (Object.keys(agent.mcpServers ?? {}).length > 0)
          requireAtTerminal(caller, 'give an agent MCP servers')
      }
    },
    rows: (caller, { created, changed }) => {
      guard(caller, { do: 'manage-fleet' })
      for (const agent of created) insert(context, caller, agent)
      for (const agent of changed) rewrite(agent)
    },
  }

  function rewrite({
    id,
    role,
    model,
    instructions,
    budget,
    project,
    mcpServers,
    files,
  }: AgentRewrite): void {
    change(id, {
      ...(role === undefined ? {} : { role: sanitizeForPrompt(role) }),
      ...(model === undefined ? {} : { model }),
      ...(instructions === undefined ? {} : { instructions: sanitizeForPrompt(instructions) }),
    })
    if (budget) context.agents.setBudget(id, budget)
    if (project !== undefined) {
      context.agents.setProject(id, project)
      context.fleetEvents.membershipChanged.publish({ agentId: id, project })
    }
    if (mcpServers) context.mcpServers.put(id, mcpServers)
    // A running agent, which maintains INSTRUCTIONS.md itself, gets the new instructions as that file.
    const instructionFiles =
      instructions === undefined ? {} : { 'INSTRUCTIONS.md': sanitizeForPrompt(instructions) }
    context.seedFiles.put(id, { ...files, ...instructionFiles })
  }
}

function insert(context: AgentContext, caller: Caller, input: CreatedAgent): void {
  requireRoom(context, input.id)
  const record = workerRecord(input, context.clock.now())
  insertAgent(context, { record, mcpServers: input.mcpServers, actor: actorOf(caller) })
  context.seedFiles.put(input.id, input.files)
}
