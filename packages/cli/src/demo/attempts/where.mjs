// Prints where this agent is: its addresses, its own port, and the mesh's API.
import { networkInterfaces } from 'node:os'
import { agentPort, listens } from './agent-port.mjs'

const addresses = Object.values(networkInterfaces())
  .flat()
  .filter((entry) => entry.family === 'IPv4' && !entry.internal)
  .map((entry) => entry.address)
const api = new URL(process.env.OPENAI_BASE_URL)
const self = await fetch(`http://127.0.0.1:${agentPort()}/healthz`).then(
  (reply) => reply.status,
  () => 0,
)
process.stdout.write(
  `RESULT ${JSON.stringify({ addresses, port: agentPort(), healthz: self, listens: await listens(agentPort()), api: { host: api.hostname, port: Number(api.port) } })}\n`,
)
