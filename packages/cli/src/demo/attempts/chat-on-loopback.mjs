// Calls the agent's own server with a chat request as if it were the mesh: without a token, with the
// programs' token, with a forged one.
import { randomBytes } from 'node:crypto'
import { agentPort, listens } from './agent-port.mjs'

const url = `http://127.0.0.1:${agentPort()}`
const body = JSON.stringify({
  run_id: 'run_0123456789abcdef',
  fence: 1,
  message: 'Say yes.',
  session: 'default',
})
const forged = [{ alg: 'EdDSA' }, { sub: 'mesh', exp: 4_000_000_000 }]
  .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  .concat(randomBytes(64).toString('base64url'))
  .join('.')

async function post(token) {
  const reply = await fetch(`${url}/chat`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
    },
    body,
    signal: AbortSignal.timeout(60_000),
  }).catch((error) => ({ status: error.message }))
  return reply.status
}

const statuses = {
  none: await post(''),
  program: await post(process.env.OPENAI_API_KEY ?? 'x'),
  forged: await post(forged),
  healthz: await fetch(`${url}/healthz`).then(
    (reply) => reply.status,
    () => 0,
  ),
  listens: await listens(agentPort()),
}
process.stdout.write(`RESULT ${JSON.stringify(statuses)}\n`)
