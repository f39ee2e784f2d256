import { spawn } from 'node:child_process'
import type { ServerResponse } from 'node:http'
import { Agent } from 'node:http'
import process from 'node:process'
import { startAgent } from '../../packages/agent/src/testing/agent-process.ts'
import { modelAnswers, startFakeMesh } from '../../packages/agent/src/testing/fake-mesh.ts'
import type { MeshAnswer, MeshRequest } from '../../packages/agent/src/testing/fake-mesh.ts'
import { describeAgentLine } from '../../packages/fleet/src/agents/connection/agent-connection.conformance.ts'
import { createAgentHttp } from '../../packages/fleet/src/agents/connection/agent-http.ts'
import { createMeshIdentity } from '../../packages/fleet/src/agents/connection/mesh-identity.ts'
import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'
import { eventually } from '../support/eventually.ts'
import { freeShares } from '../support/free-shares.ts'
import { agentProgram } from '../support/programs.ts'

const identity = createMeshIdentity({ secret: 'a secret of this test', clock: systemClock })

interface Question {
  readonly request: MeshRequest
  readonly response: ServerResponse
}

/** A model that holds each call until the test sets the answer, which all later calls get at once. */
function aHeldModel() {
  const asking = new Map<string, Question>()
  const said = new Map<string, string>()
  const answer: MeshAnswer = (request, response) => {
    if (request.path !== '/v1/chat/completions') return undefined
    const attempt = `${String(request.headers['x-run-id'])} ${String(request.headers['x-run-fence'])}`
    const words = said.get(attempt)
    if (words !== undefined) return modelAnswers([{ text: words }])(request, response)
    asking.set(attempt, { request, response })
    response.on('close', () => asking.delete(attempt))
    // The answer follows later: headers keep the mesh from sending the next requests.
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    return undefined
  }
  const working = () => eventually('the agent asks its model', () => [...asking][0])
  return {
    answer,
    working,
    finish: async (words: string) => {
      const [attempt, { request, response }] = await working()
      said.set(attempt, words)
      asking.delete(attempt)
      response.writeHead = () => response
      modelAnswers([{ text: words }])(request, response)
    },
  }
}

const tools: MeshAnswer = ({ path }) => (path === '/mesh/lease' ? { lease_until: 0 } : undefined)
const complete: MeshAnswer = ({ path }) => (path.endsWith('/complete') ? { id: 'task_1' } : undefined)

describeAgentLine('the real agent process', async () => {
  const model = aHeldModel()
  const mesh = await startFakeMesh([model.answer, tools, complete])
  const agent = await startAgent({
    meshUrl: mesh.url,
    key: {
      publicKey: identity.publicKeyBase64url,
      proofFor: (agentId) => `Bearer ${identity.signFor(agentId)}`,
    },
    spawnMain: (environment) =>
      spawn(process.execPath, [agentProgram()], {
        env: { PATH: process.env['PATH'], ...environment },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
  })
  const http = new Agent({ keepAlive: true })
  const line = createAgentHttp({
    agentId: agent.id,
    address: { host: '127.0.0.1', port: agent.port },
    identity,
    clock: systemClock,
    replies: freeShares(),
    http,
  })
  return {
    line,
    working: async () => void (await model.working()),
    finish: model.finish,
    die: async () => void (await agent.stop('SIGKILL')),
    close: async () => {
      http.destroy()
      await agent.stop('SIGKILL')
      await mesh.close()
    },
  }
})
