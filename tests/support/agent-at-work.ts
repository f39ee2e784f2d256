import type { RunView } from '@flotilla/protocol/run'
import { agentSurroundings } from './agent-surroundings.ts'
import type { AgentSurroundings } from './agent-surroundings.ts'
import { aCassette, runs, says } from './cassettes.ts'
import { eventually } from './eventually.ts'
import type { MeshProcess } from './mesh-process.ts'
import { addDoorToken } from './own-token.ts'

/** An agent in the middle of a run, with a door token that a test may knock with as the agent does. */
export interface AgentAtWork extends AgentSurroundings {
  readonly run: RunView
  readonly token: string
}

/** For the model of a mesh in which agents are at work: as long as a command may take, which a file of tests does not. */
export const longWork = aCassette({
  when: '^work$',
  turns: [runs('sleep 280', { timeoutSeconds: 300 }), says('Done.')],
})

/** Gives the agent `work` and waits until it is at it. */
export async function agentAtWork(mesh: MeshProcess, id: string): Promise<AgentAtWork> {
  const runId = await mesh.submit('work', { agent: id })
  const surroundings = await agentSurroundings(mesh, id)
  const run = await eventually(`${id} works`, async () => {
    const view = await mesh.run(runId)
    return view.state === 'running' ? view : null
  })
  return { ...surroundings, run, token: addDoorToken(mesh.home, id) }
}
