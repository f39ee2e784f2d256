import { setImmediate } from 'node:timers/promises'
import { describeAgentConnections } from './agent-connection.conformance.ts'
import { aWorker } from '../../testing/fleet-harness.ts'

describeAgentConnections('the fleet', async () => {
  const world = await aWorker()
  return {
    connections: world.fleet.connection,
    agentId: 'w',
    die: async () => {
      await world.runtime.kill('w', 137)
      for (let turns = 0; turns < 20; turns++) await setImmediate()
    },
    close: world.close,
  }
})
