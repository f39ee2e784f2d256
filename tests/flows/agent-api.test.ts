import { describeAgentApi } from '../../packages/agent/src/testing/fake-mesh.conformance.ts'
import { answerStream, chunkEvent, usageEvent } from '../support/llm-upstream.ts'
import { startLlmGateway } from '../support/llm-gateway.ts'

const model = 'deepseek/m'

describeAgentApi('the API of the mesh', async (script) => {
  const gateway = await startLlmGateway('openai', model)
  let asked = 0
  gateway.upstream.answerWith((call, response) => {
    const answer = script?.[Math.min(asked, script.length - 1)]
    asked += 1
    if (!answer) return answerStream(call, response)
    const calls = (answer.calls ?? []).map(({ name, arguments: given }, index) => ({
      index,
      id: `call_${index}`,
      type: 'function',
      function: { name, arguments: JSON.stringify(given) },
    }))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chunkEvent({ role: 'assistant', content: answer.text ?? null }))
    for (const one of calls) response.write(chunkEvent({ tool_calls: [one] }))
    response.write(chunkEvent({}, calls.length > 0 ? 'tool_calls' : 'stop'))
    response.end(`${usageEvent()}data: [DONE]\n\n`)
  })
  return {
    port: Number(new URL(gateway.rootUrl).port),
    token: 'scout',
    model: script === null ? 'deepseek/of-others' : model,
    close: gateway.close,
  }
})
