import type { MeshClient } from '@flotilla/client/mesh-client'
import type { Clock } from '@flotilla/protocol/clock'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { isTerminal } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'

export interface ToolCall {
  readonly agentId: string
  readonly tool: string
  readonly params: JsonObject
}

export interface InvokeDeps {
  readonly client: MeshClient
  readonly clock: Clock
  readonly newKey: () => string
  readonly signal: AbortSignal
}

const askEveryMs = 200
/** How long a tool's run is waited for, in milliseconds: longer than the longest attempt takes. */
const waitMaxMs = 240_000

/** Runs one tool of an agent and waits for its run's outcome. Rejects with a Problem or after 4 minutes. */
export async function invokeTool(deps: InvokeDeps, call: ToolCall): Promise<RunView> {
  const { client, clock, signal } = deps
  let run = await client.call('invoke', {
    params: { id: call.agentId },
    body: { tool: call.tool, params: call.params },
    idempotencyKey: deps.newKey(),
    signal,
  })
  const end = clock.now() + waitMaxMs
  while (!isTerminal(run.state)) {
    if (clock.now() > end)
      throw new Error(`${call.tool} of ${call.agentId} did not end in ${waitMaxMs / 1000} s`)
    await clock.sleep(askEveryMs, signal)
    run = await client.call('run', { params: { id: run.id }, signal })
  }
  return run
}
