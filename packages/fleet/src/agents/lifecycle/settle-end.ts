import { agentExitCodes } from '@flotilla/protocol/agent-exit'
import { isLive } from '@flotilla/protocol/agent-lifecycle'
import { sandboxSizes } from '../../sandbox/index.ts'
import type { SandboxEnd } from '../../sandbox/index.ts'
import type { AgentKind } from '../registry/agent-record.ts'
import type { AgentContext } from './agent-context.ts'
import { startIdLabel } from './agent-sandbox.ts'
import { loseSandbox } from './lose-sandbox.ts'

/**
 * Handles an unrequested end of a sandbox; runs under the agent's mutex. A late end event of an earlier sandbox does
 * not end the current one.
 */
export async function settleEnd(context: AgentContext, end: SandboxEnd): Promise<void> {
  const row = context.agents.find(end.agentId)
  if (row === null || !isLive(row.state.kind)) return
  const now = await context.runtime.inspect(end.agentId).catch(() => null)
  if (now?.running && now.labels[startIdLabel] === row.startId) return
  const reason = endWords(end, row.record.kind)
  context.tokens.revoke(end.agentId)
  context.sandboxes.addresses.delete(end.agentId)
  context.database.transaction(() => {
    loseSandbox(context, end.agentId, reason)
    context.journal.append({
      actor: 'system',
      action: 'agent.died',
      subject: end.agentId,
      detail: { start_id: row.startId ?? '', exit_code: end.code, out_of_memory: end.outOfMemory, reason },
    })
    context.events.publish({
      type: 'agent.died',
      agent_id: end.agentId,
      exit_code: end.code,
      out_of_memory: end.outOfMemory,
    })
  })
  context.log.warn(
    { agentId: end.agentId, code: end.code, outOfMemory: end.outOfMemory, reason },
    'the sandbox of an agent exited; restarting it and retrying its run',
  )
  context.fleetEvents.sandboxGone.publish({ agentId: end.agentId, reason: 'died' })
}

/** Describes for people why a sandbox ended. Pure. */
export function endWords({ code, outOfMemory }: Omit<SandboxEnd, 'agentId'>, kind: AgentKind): string {
  if (outOfMemory) {
    const limitMb = sandboxSizes[kind].memoryLimitBytes / (1024 * 1024)
    return `the kernel killed the agent because its container ran out of memory (limit: ${limitMb} MB)`
  }
  if (code === agentExitCodes.cannotWrite) return 'the agent could not write its state to /data'
  if (code === killedCode) return 'another program killed the process of the agent'
  return `the process of the agent ended with exit code ${code}`
}

/** The exit code of a process that was ended by SIGKILL. */
const killedCode = 137
