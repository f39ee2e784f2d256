import type { Clock } from '@flotilla/protocol/clock'
import type { SandboxRuntime } from '../../sandbox/index.ts'
import type { AgentConnection } from '../connection/agent-connection.ts'

const firstPollMs = 25
const pollMaxMs = 500
const readyDeadlineMs = 60_000
/** From this pause on the engine is asked whether the process lives at all; asking costs more than a poll. */
const inspectFromMs = 200

/** Resolves when the agent that was given this door token answers. Rejects after 60 s, when its process has ended, or when the signal aborts. */
export async function waitUntilReady(
  deps: { readonly clock: Clock; readonly runtime: SandboxRuntime },
  agent: { readonly connection: AgentConnection; readonly doorToken: string },
  signal: AbortSignal,
): Promise<void> {
  const { connection, doorToken } = agent
  const deadline = deps.clock.now() + readyDeadlineMs
  for (let pauseMs = firstPollMs; ; pauseMs = Math.min(pollMaxMs, pauseMs * 2)) {
    // The first says that it is this start's process, the second that it can work.
    if ((await connection.started(doorToken, signal)) && (await connection.healthy(signal))) return
    signal.throwIfAborted()
    if (deps.clock.now() >= deadline) throw new Error(`it did not answer within ${readyDeadlineMs / 1000} s`)
    if (pauseMs >= inspectFromMs) await requireRunning(deps.runtime, connection.agentId)
    await deps.clock.sleep(pauseMs, signal)
  }
}

async function requireRunning(runtime: SandboxRuntime, agentId: string): Promise<void> {
  const state = await runtime.inspect(agentId)
  if (state?.running) return
  const exit = state?.exit
  if (!exit) throw new Error('its process ended')
  throw new Error(`its process ended with code ${exit.code}${exit.outOfMemory ? ', out of memory' : ''}`)
}
