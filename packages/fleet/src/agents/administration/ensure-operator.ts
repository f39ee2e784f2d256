import { operatorAgentId } from '@flotilla/protocol/ids'
import type { AgentContext } from '../lifecycle/agent-context.ts'
import { addAgent, defaultBudget } from './create-agent.ts'
import type { PermissionGrants } from '@flotilla/identity/access'

const operatorRole =
  'Talks with the owner, gives work to the workers whose role fits, and answers with their results.'

const operatorInstructions = `# Instructions

- Answer in the language of the person who asks, short and exact.
- Before giving work away, make sure that you know what a good result looks like; ask the person when you cannot tell.
- Never state a figure, a name or a fact about files that did not come from a tool or from a worker's result.
- When something failed, say what failed and what can be done next.
`

/** Creates the reserved operator if this home has none; an existing operator keeps the owner's changes. */
export async function ensureOperator(deps: {
  readonly grants: PermissionGrants
  readonly context: AgentContext
}): Promise<void> {
  const { context } = deps
  if (context.agents.find(operatorAgentId)) return
  await addAgent(deps, {
    record: {
      id: operatorAgentId,
      kind: 'operator',
      role: operatorRole,
      model: null,
      instructions: operatorInstructions,
      budget: defaultBudget,
      project: null,
      createdAt: context.clock.now(),
    },
    overrides: {},
    actor: 'system',
  })
  context.log.info({ agentId: operatorAgentId }, 'created the operator, because the fleet had none')
}
