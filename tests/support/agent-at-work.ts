import { randomUUID } from 'node:crypto'
import { headers } from '@flotilla/protocol/headers'
import type { RunView } from '@flotilla/protocol/run'
import { agentSurroundings } from './agent-surroundings.ts'
import type { AgentSurroundings } from './agent-surroundings.ts'
import { aCassette, runs, says } from './cassettes.ts'
import { eventually } from './eventually.ts'
import { httpCall } from './http-call.ts'
import type { Reply } from './http-call.ts'
import type { MeshProcess } from './mesh-process.ts'
import { addDoorToken } from './own-token.ts'

/** An agent in the middle of a run, with an agent token with which a test can call the agent API. */
export interface AgentAtWork extends AgentSurroundings {
  readonly run: RunView
  readonly token: string
}

/** A cassette that keeps an agent at work for forty minutes, longer than any test file takes. */
export const longWork = aCassette({
  when: '^work$',
  turns: [
    ...Array.from({ length: 9 }, (_, turn) => runs(`sleep 28${turn}`, { timeoutSeconds: 300 })),
    says('Done.'),
  ],
})

/** Gives the agent the message `work` and waits until the agent executes it. */
export async function agentAtWork(mesh: MeshProcess, id: string): Promise<AgentAtWork> {
  const runId = await mesh.submit('work', { agent: id })
  const surroundings = await agentSurroundings(mesh, id)
  const run = await eventually(`${id} works`, async () => {
    const view = await mesh.run(runId)
    return view.state === 'running' ? view : null
  })
  return { ...surroundings, run, token: addDoorToken(mesh.home, id) }
}

/** Calls the agent API as the agent's own process does, each time with a new idempotency key. */
export function knock(
  who: AgentAtWork,
  { method, path, body }: { readonly method: string; readonly path: string; readonly body?: unknown },
): Promise<Reply> {
  return httpCall({
    method,
    url: `${who.api}${path}`,
    headers: {
      authorization: `Bearer ${who.token}`,
      [headers.runId]: who.run.id,
      [headers.runFence]: String(who.run.fence),
      [headers.idempotencyKey]: `key ${randomUUID()}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
}
