import {
  describeAgentConnections,
  describeAgentLine,
} from '../../fleet/src/agents/connection/agent-connection.conformance.ts'
import { createFakeAgents } from './fake-agents.ts'

const never = new AbortController().signal
const close = () => Promise.resolve()

/** Calls are made before the test waits, so that their effects are visible. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

describeAgentLine('the fake agent', async () => {
  const agents = createFakeAgents()
  const line = await agents.ensureRunning('ada', never)
  const working = async () => {
    await turn()
    if (!agents.working('ada')) throw new Error('the fake agent does not work')
  }
  return {
    line,
    working,
    finish: async (response) => {
      await working()
      agents.finish('ada', { response })
    },
    die: async () => agents.die('ada'),
    close,
  }
})

describeAgentConnections('the fake fleet', async () => {
  const connections = createFakeAgents()
  return { connections, agentId: 'ada', die: async () => connections.die('ada'), close }
})
