import { markedLines, oneLine, printable } from '../terminal/color.ts'
import { formatError } from '../terminal/format-error.ts'
import type { SlashCall } from './slash-command.ts'

/** Number of agents that one line may ask; more are rejected, because each of them costs money. */
const agentsMax = 50
/** Number of agents that are asked at the same time; the others wait. */
const parallelMax = 8
const nameColumnsMax = 64

/**
 * Sends a message to all workers, or to the members of the selected project, and shows each answer as it arrives.
 * Ctrl-C cancels the runs that have not ended, and agents that were not asked yet are skipped.
 */
export async function broadcast(call: SlashCall, text: string): Promise<void> {
  const { client, terminal } = call
  /** The id of the run that each asked agent is executing, by the agent's id. */
  const runIds = new Map<string, string>()
  const inUse = call.project.name()
  const agents = await meantAgents(call)
  if (agents.length === 0) {
    return terminal.print(inUse === null ? 'There are no workers yet.' : `${inUse} has no members yet.`)
  }
  if (agents.length > agentsMax) {
    return terminal.print(`${agents.length} agents would be asked; the limit is ${agentsMax}. Use a project.`)
  }
  terminal.print(terminal.color.faint(`Asked: ${agents.join(', ')}`))
  const waiting = [...agents]
  let isCancelled = false
  const giveBack = call.onInterrupt(() => {
    isCancelled = true
    terminal.note(
      ['Cancelling …', ...(waiting.length === 0 ? [] : [`(${waiting.length} not asked)`])].join(' '),
    )
    waiting.length = 0
    for (const runId of runIds.values()) void cancel(runId)
  })
  try {
    await Promise.all(
      Array.from({ length: Math.min(parallelMax, agents.length) }, async () => {
        for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) await askOne(id)
      }),
    )
  } finally {
    giveBack()
  }

  /** Cancels a run; an error is ignored, because the run may have ended already. */
  async function cancel(runId: string): Promise<void> {
    await client.call('runCancel', { params: { id: runId } }).catch(() => undefined)
  }

  async function askOne(agentId: string): Promise<void> {
    const who = terminal.color.name(oneLine(agentId, nameColumnsMax))
    try {
      for await (const frame of client.chatStream(agentId, text, { session: call.session.name() })) {
        if (frame.type === 'accepted') {
          runIds.set(agentId, frame.run_id)
          // The person cancelled after the request was sent and before the mesh created the run.
          if (isCancelled) void cancel(frame.run_id)
        }
        if (frame.type !== 'ended') continue
        runIds.delete(agentId)
        const { outcome, state } = frame.run
        const answer = outcome?.status === 'done' ? outcome.text : `${state}: ${outcome?.text ?? ''}`
        terminal.print(...markedLines(answer).map((line, at) => (at === 0 ? `${who}: ${line}` : line)))
      }
    } catch (error) {
      terminal.print(`${who}: ${printable(formatError(error).detail)}`)
    }
  }
}

async function meantAgents({ client, project }: SlashCall): Promise<readonly string[]> {
  const name = project.name()
  if (name !== null) return (await client.call('project', { params: { name } })).members
  const { agents } = await client.call('status')
  return agents.filter(({ kind, archived }) => kind === 'worker' && !archived).map(({ id }) => id)
}
