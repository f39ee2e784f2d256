import type { IsolationRung } from '@flotilla/protocol/isolation'
import type { Clock } from '@flotilla/protocol/clock'
import type { SandboxRuntime } from '../../sandbox/index.ts'
import type { AgentSelf } from '../connection/agent-connection.ts'

/** The first pause between two checks whether a started agent is ready, in milliseconds. */
const firstPollMs = 25
/** Most agents answer within this time, milliseconds; until then polls are more frequent. */
const eagerMs = 500
/** The longest pause between two checks whether a started agent is ready, in milliseconds. */
const pollMaxMs = 500
/** The time limit from the start of a sandbox until its agent is ready, in milliseconds. */
const readyDeadlineMs = 60_000
/**
 * Time limit for a virtual machine, milliseconds. Its kernel boots first: up to a minute with software emulation, and
 * longer on a busy host.
 */
const machineReadyDeadlineMs = 180_000
/**
 * Once the pause between polls has grown to this, the engine is also asked whether the process is alive, which costs
 * more than a poll. Milliseconds.
 */
const inspectFromMs = 200

/**
 * Resolves when the agent that received this agent token answers and has its own processor share. Rejects after 60 s
 * (180 s for a virtual machine), when its process has ended, or when the signal aborts.
 */
export async function waitUntilReady(
  deps: { readonly clock: Clock; readonly runtime: SandboxRuntime },
  agent: { readonly connection: AgentSelf; readonly doorToken: string; readonly rung: IsolationRung },
  signal: AbortSignal,
): Promise<void> {
  const { connection, doorToken } = agent
  const withinMs = agent.rung === 'microvm' ? machineReadyDeadlineMs : readyDeadlineMs
  const startedAt = deps.clock.now()
  const deadline = startedAt + withinMs
  let pauseMs = firstPollMs
  let held: Promise<void> | undefined
  /** Ends the start share as soon as the port is open: the engine takes as long as the agent's first answer. */
  const hold = (): Promise<void> => {
    held ??= deps.runtime.endStartShare(connection.agentId)
    // A rejection is handled where the promise is awaited.
    held.catch(() => undefined)
    return held
  }
  // QEMU accepts connections before the machine's kernel has booted, and the boot needs the start share.
  const onTaken = agent.rung === 'microvm' ? undefined : () => void hold()
  for (;;) {
    // The first call shows that the process of this start answers, the second that the process can work.
    if (await connection.started(doorToken, signal, onTaken)) {
      const [healthy] = await Promise.all([connection.healthy(signal), hold()])
      if (healthy) return
    }
    signal.throwIfAborted()
    if (deps.clock.now() >= deadline) throw new Error(`the agent did not answer within ${withinMs / 1000} s`)
    if (pauseMs >= inspectFromMs) await requireRunning(deps.runtime, connection.agentId)
    await deps.clock.sleep(pauseMs, signal)
    if (deps.clock.now() - startedAt >= eagerMs) pauseMs = Math.min(pollMaxMs, pauseMs * 2)
  }
}

async function requireRunning(runtime: SandboxRuntime, agentId: string): Promise<void> {
  const state = await runtime.inspect(agentId)
  if (state?.running) return
  const exit = state?.exit
  if (!exit) throw new Error('the process of the agent ended')
  throw new Error(
    `the process of the agent ended with exit code ${exit.code}${exit.outOfMemory ? ', out of memory' : ''}`,
  )
}
