import { setImmediate } from 'node:timers/promises'
import { describeAgentConnections } from './agent-connection.conformance.ts'
import { aWorker } from '../../../../testing/src/fleet-harness.ts'

describeAgentConnections('the fleet', async () => {
  const harness = await aWorker()
  return {
    connections: harness.fleet.connection,
    agentId: 'w',
    die: async () => {
      await harness.runtime.kill('w', 137)
      for (let turns = 0; turns < 20; turns++) await setImmediate()
    },
    close: harness.close,
  }
})
