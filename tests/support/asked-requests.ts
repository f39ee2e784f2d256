import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { controlEndpoints } from '@flotilla/protocol/control-api'
import { aCassette, calls, says } from './cassettes.ts'
import { eventually } from './eventually.ts'
import { flotilla } from './flotilla-command.ts'
import { startMesh } from './mesh-process.ts'
import { startWebServer } from './web-server.ts'

/** A policy as an owner may write it, with comments and spacing of the owner's own. */
export const ownersPolicy = `# Rules of the fleet.   Do not tidy up!
rules:
  -   { name: orders,   match: { method: POST }, verdict: ask,
        reason: 'An order.' }   # by hand

  # Nothing below /admin.
  - name:    no-admin
    match:   { path: [ '/admin/**' , '/root' ] }
    verdict: deny

cases:
  - { agent: sender, method: POST,   url: 'https://shop.example/1', expect: ask }
`

/** A mesh whose agent `sender` sends a POST to `/NAME` when it gets the message "send NAME", which a rule asks for. */
export async function startAskedRequests() {
  const web = await startWebServer((_request, response) => response.writeHead(201).end('ordered'))
  const address = `127.0.0.1:${web.port}`
  const mesh = await startMesh({
    cassettes: {
      sender: aCassette(
        { when: 'approval|action', turns: [says('Heard.')] },
        {
          when: '^send (\\w+)$',
          turns: [
            {
              ...calls('http_request', { url: `http://${address}/{{name}}`, method: 'POST', body: 'one' }),
              capture: { name: '^send (\\w+)$' },
            },
            says('Sent or asked.'),
          ],
        },
      ),
    },
    settings: { egress: { allowed_private: [address] } },
  })
  await mesh.createWorker('sender')
  await flotilla({ url: mesh.url, home: mesh.home }, 'permissions', 'set', 'sender', 'allowed_apis+=http')
  const file = join(mesh.home, 'config', 'policy.yaml')
  await writeFile(file, ownersPolicy)
  await eventually('the policy is read', async () =>
    (await mesh.call(controlEndpoints.policy)).text.includes('orders') ? true : null,
  )
  const open = async () => {
    const reply = await mesh.call(controlEndpoints.pending, { query: { state: 'open', limit: 100 } })
    return reply.json()['pending'] as readonly { id: string; digest: string; args: { url: string } }[]
  }
  let sessions = 0
  return {
    mesh,
    policyText: () => readFile(file, 'utf8'),
    writePolicy: (text: string) => writeFile(file, text),
    /** How many requests came to a path. */
    arrived: (name: string) => web.requests.filter(({ url }) => url === `/${name}`).length,
    /** Lets the agent send; resolves when its run waits or has ended. */
    send: (name: string) => mesh.ask(`send ${name}`, { agent: 'sender', session: `s${++sessions}` }),
    submit: (name: string) => mesh.submit(`send ${name}`, { agent: 'sender', session: `s${++sessions}` }),
    asked: (name: string) =>
      eventually(
        'a person is asked',
        async () => (await open()).find(({ args }) => args.url.endsWith(`/${name}`)) ?? null,
      ),
    open,
    stop: async () => {
      await mesh.stop()
      await web.close()
    },
  }
}
