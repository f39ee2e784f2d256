import { doorToken } from './agent-process.ts'
import { describeAgentApi } from './fake-mesh.conformance.ts'
import { modelAnswers, sendProblem, startFakeMesh } from './fake-mesh.ts'

describeAgentApi('the fake mesh', async (script) => {
  const mesh = await startFakeMesh([
    script === null
      ? (_request, response) => sendProblem(response, 403, 'model-not-allowed')
      : modelAnswers(script),
  ])
  return { port: mesh.port, token: doorToken, model: 'some/model', close: mesh.close }
})
