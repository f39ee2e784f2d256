import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { browserHumanApi, browserViewSchema } from '@flotilla/protocol/browser-api'
import { browserHumanEndpoints } from '@flotilla/protocol/browser-endpoints'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { homeTag } from '../../packages/mesh/src/sandbox/sandbox-spec.ts'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startNameServer } from '../support/name-server.ts'
import type { NameServer } from '../support/name-server.ts'
import { patient } from '../support/patience.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const host = 'shop.outside.test'

/** A page of a shop: a field, a button that says what was typed, and a file. */
const page = `<!doctype html><title>Shop</title>
<label>Name <input id="name"></label> <button onclick="said.textContent='Hello '+document.getElementById('name').value">Greet</button>
<p id="said"></p><a href="/bill.txt" download="bill.txt">Bill</a>`

withEngine(
  'agents with browsers',
  (engine) => {
    let mesh: MeshProcess
    let site: ReturnType<typeof createServer>
    let names: NameServer
    let url: string
    let homeId: string

    beforeAll(async () => {
      site = createServer((request, response) => {
        if (request.url === '/bill.txt') {
          response.setHeader('content-disposition', 'attachment; filename="bill.txt"')
          return void response.end('12 EUR')
        }
        response.setHeader('content-type', 'text/html').end(page)
      })
      await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve))
      names = await startNameServer((name) => (name === host ? ['127.0.0.1'] : null))
      const { port } = site.address() as AddressInfo
      url = `http://${host}:${port}/`
      /** The reference behind these words of the page. */
      const find = (name: string, words: string) => ({ capture: { [name]: `${words}[^\\[]*\\[(e\\d+)\\]` } })
      mesh = await startMesh({
        runtime: 'docker',
        environment: { FLOTILLA_NO_INSTALL: '1' },
        cassettes: {
          shop: aCassette({
            when: '^shop$',
            turns: [
              calls('browser_navigate', { url }),
              calls('browser_snapshot', {}),
              calls('browser_type', { ref: '{{name}}', text: 'Ada' }, find('name', 'textbox')),
              calls('browser_snapshot', {}),
              calls('browser_click', { ref: '{{greet}}' }, find('greet', 'Greet')),
              calls('browser_find_text', { query: 'Hello Ada' }),
              says('Found {{n}}.', { capture: { n: '"total": ?(\\d+)' } }),
            ],
          }),
        },
        settings: {
          browser: { max_live: 1 },
          egress: { dns_servers: [`127.0.0.1:${names.port}`], allowed_private: [`${host}:${port}`] },
        },
      })
      for (const id of ['ada', 'bob']) {
        await mesh.createWorker(id)
        await flotilla(mesh, 'permissions', 'set', id, 'can_use_browser=true')
      }
      homeId = (await readFile(join(mesh.home, 'data', 'home-id'), 'utf8')).trim()
    }, patient(900_000))
    afterAll(async () => {
      await mesh?.stop()
      names?.close()
      await new Promise((resolve) => site?.close(resolve))
    })

    const use = async (agent: string, tool: string, params: object = {}) => {
      const run = await mesh.invoke(agent, tool, params)
      return JSON.stringify(run.outcome)
    }
    /** The first of a machine makes its image. */
    async function opened(): Promise<void> {
      for (let tries = 0; tries < 15; tries++) {
        if (!(await use('ada', 'browser_navigate', { url })).includes('browser-unavailable')) return
      }
      throw new Error('no browser came up')
    }

    it(
      'an agent reads a page that its owner opened, types, clicks, sees it and downloads',
      async () => {
        await opened()
        const snapshot = await use('ada', 'browser_snapshot')
        expect(snapshot).toContain('Greet')
        expect((await mesh.ask('shop', { agent: 'ada' })).outcome?.text).toBe('Found 1.')
        expect(await use('ada', 'browser_screenshot')).toContain('width')
        const link = /Bill[^[]*\[(e\d+)\]/.exec(await use('ada', 'browser_snapshot'))?.[1] ?? ''
        const path = /downloads\/[\w.-]+/.exec(await use('ada', 'browser_download', { ref: link }))?.[0] ?? ''
        expect(await use('ada', 'read_file', { path })).toContain('12 EUR')
      },
      patient(900_000),
    )

    it('one more is refused by name, and what is private stays closed', async () => {
      expect(await use('bob', 'browser_navigate', { url })).toContain('browsers-full')
      const inside = await use('ada', 'browser_navigate', { url: 'http://127.0.0.1:8420/' })
      // The proxy's own refusal, in the place of a page.
      expect(inside).toMatch(/http_status\W+403/)
    })

    it('people see its screen by a real RFB handshake, and closing it ends the container', async () => {
      const socket = new WebSocket(`${mesh.url.replace('http', 'ws')}/agent-vnc/ada/websockify`, ['binary'])
      const chunks: Buffer[] = []
      const more = () =>
        new Promise<void>((resolve) =>
          socket.once('message', (data: Buffer) => resolve(void chunks.push(data))),
        )
      const until = async (bytes: number) => {
        while (Buffer.concat(chunks).length < bytes) await more()
        return Buffer.concat(chunks.splice(0))
      }
      expect((await until(12)).toString()).toBe('RFB 003.008\n')
      socket.send(Buffer.from('RFB 003.008\n'))
      expect((await until(2))[1]).toBe(1)
      socket.send(Buffer.from([1]))
      expect([...(await until(4))]).toEqual([0, 0, 0, 0])
      socket.send(Buffer.from([1]))
      const init = await until(24)
      expect(init.readUInt16BE(0)).toBeGreaterThan(600)
      const gone = new Promise((resolve) => socket.once('close', resolve))
      const closed = await mesh.call(browserHumanEndpoints.browserClose, { params: { id: 'ada' } })
      expect(browserViewSchema.parse(closed.json())).toMatchObject({ state: 'closed' })
      await gone
    })

    it('a killed mesh leaves no browser behind, and the profile comes back', async () => {
      await opened()
      await mesh.kill9()
      await mesh.restart()
      const { browsers } = browserHumanApi.browsers.response.parse(
        (await mesh.call(browserHumanEndpoints.browsers)).json(),
      )
      expect(browsers).toEqual([])
      const label = ['flotilla.role=browser', `flotilla.home=${homeTag(homeId)}`]
      expect(await engine.docker.listContainers({ all: true, filters: { label } })).toEqual([])
      expect(await use('ada', 'browser_navigate', { url })).toContain('Shop')
    })
  },
  found,
)
