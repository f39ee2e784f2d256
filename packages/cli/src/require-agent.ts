import type { MeshClient } from '@flotilla/client/mesh-client'
import { operatorAgentId } from '@flotilla/protocol/ids'
import { describeMissingAgent } from '@flotilla/protocol/no-such-agent'
import { CommandFailed } from './command-failed.ts'
import type { CommandContext } from './context.ts'
import { exitCodes } from './exit-codes.ts'
import { oneLine } from './terminal/color.ts'

const nameColumnsMax = 64

/** Rejects with CommandFailed and similar names if no agent has this name. The operator always exists. */
export async function requireAgent(
  { signal }: Pick<CommandContext, 'signal'>,
  client: MeshClient,
  agentId: string,
): Promise<void> {
  if (agentId === operatorAgentId) return
  const { agents } = await client.call('status', { signal })
  const ids = agents.map(({ id }) => id)
  if (ids.includes(agentId)) return
  throw new CommandFailed('unknown-agent', {
    detail: describeMissingAgent(oneLine(agentId, nameColumnsMax), [...new Set([...ids, operatorAgentId])]),
    repair:
      'List the agents with flotilla agents. To talk to an agent, name it first: flotilla chat operator "...".',
    exitCode: exitCodes.usage,
  })
}
