import { execFile } from 'node:child_process'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { channelEndpoints } from '@flotilla/protocol/channels-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { heldPort } from '../support/held-port.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'

/**
 * A Bot API server by other authors, fetched by npm without install scripts. It runs only in the soak tests: it
 * depends on seventy old packages, and implements less of Telegram than the server of the other tests (no
 * conflicts, topics, files or menus).
 */
const version = '4.2.1'
const isSoak = process.env['FLOTILLA_SOAK'] === '1'
const token = '123456:telegram-test-api-token-of-flotilla'
const answer = 'Two packages state no licence.'

interface TestServer {
  readonly config: { readonly apiURL: string }
  start(): Promise<void>
  stop(): Promise<boolean>
  getClient(token: string, options: object): TestClient
}
interface TestClient {
  makeMessage(text: string): object
  sendMessage(message: object): Promise<unknown>
  getUpdatesHistory(): Promise<readonly { readonly message?: { readonly text?: string } }[]>
}

describe.skipIf(!isSoak)('a mesh at telegram-test-api', () => {
  let server: TestServer
  let mesh: MeshProcess
  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'telegram-test-api-'))
    await writeFile(join(folder, 'package.json'), '{"private":true}')
    const words = ['install', '--ignore-scripts', '--no-audit', '--no-fund', `telegram-test-api@${version}`]
    await promisify(execFile)('npm', words, { cwd: folder })
    const Server = createRequire(join(folder, 'package.json'))('telegram-test-api') as new (
      options: object,
    ) => TestServer // as its types say
    server = new Server({ port: await heldPort(), host: '127.0.0.1', protocol: 'http', storeTimeout: 600 })
    await server.start()
    mesh = await startMesh({
      cassettes: { telegram: aCassette({ agents: ['clerk'], when: 'licences', turns: [says(answer)] }) },
      settings: { channels: { telegram: { api_url: server.config.apiURL } } },
      environment: { FLOTILLA_SYSTEM_TELEGRAM_BOT_TOKEN: token },
    })
    const people = [{ name: 'ann', role: 'owner', identities: ['telegram:1000'] }]
    await writeFile(join(mesh.home, 'config', 'people.json'), JSON.stringify({ people }))
    await mesh.createWorker('clerk')
  })
  afterAll(async () => {
    await mesh?.stop()
    await server?.stop()
  })

  it('a mesh at telegram-test-api connects, receives a message once, and answers', async () => {
    await eventually('it is connected', async () => {
      const { channels } = (await mesh.call(channelEndpoints.channels)).json() as {
        channels: { name: string; state: string; people: number }[]
      }
      return channels.some(
        ({ name, state, people }) => name === 'telegram' && state === 'connected' && people === 1,
      )
    })
    const client = server.getClient(token, { userId: 1000, chatId: 1000, firstName: 'Ann', userName: 'ann' })
    await client.sendMessage(client.makeMessage('@clerk which licences?'))
    const shown = async () =>
      (await client.getUpdatesHistory()).filter(({ message }) => message?.text?.includes(answer) === true)
    await eventually('the answer is there', async () => (await shown()).length > 0)
    expect(await shown()).toHaveLength(1)
    expect((await mesh.runs()).filter(({ agent_id: agent }) => agent === 'clerk')).toHaveLength(1)
  })
})
