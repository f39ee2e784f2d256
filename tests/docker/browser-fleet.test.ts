import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { browserHumanApi } from '@flotilla/protocol/browser-api'
import { browserHumanEndpoints } from '@flotilla/protocol/browser-endpoints'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { homeTag } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'
import { heedsLesson } from '../verifies.ts'
import { startShop } from './browser-shop.ts'
import type { Shop } from './browser-shop.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const isSoak = process.env['FLOTILLA_SOAK'] === '1'

withEngine(
  'agents with browsers',
  (engine) => {
    let mesh: MeshProcess
    let shop: Shop
    let url: string
    let homeId: string

    beforeAll(async () => {
      shop = await startShop()
      url = shop.url
      /** Captures the reference of the element with this text. */
      const find = (name: string, words: string) => ({ capture: { [name]: `${words}[^\\[]*\\[(e\\d+)\\]` } })
      const waits = (when: string, timeoutMs: number) => ({
        when,
        turns: [
          calls('browser_wait_for', { text: 'never there', timeout_ms: timeoutMs }),
          says('Went on after {{end}}.', {
            capture: { end: '(browser-crashed|upstream-failed|launch-failed|"found": ?false)' },
          }),
        ],
      })
      mesh = await startMesh({
        runtime: 'docker',
        environment: { FLOTILLA_NO_INSTALL: '1' },
        cassettes: {
          shop: aCassette(
            {
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
            },
            waits('^wait$', 30_000),
            // Used by a run that waits again after its mesh was restarted.
            waits('^wait briefly$', 8000),
          ),
        },
        settings: {
          browser: { max_live: 1 },
          egress: shop.egress,
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
      await shop?.close()
    })

    const use = async (agent: string, tool: string, params: object = {}) => {
      const run = await mesh.invoke(agent, tool, params)
      return JSON.stringify(run.outcome)
    }
    /** Opens a browser. While its image is built, or on a busy machine, the error says to try again. */
    async function opened(): Promise<string> {
      let said = ''
      for (let tries = 0; tries < 15; tries++) {
        said = await use('ada', 'browser_navigate', { url })
        if (!/browser-unavailable|launch-failed/.test(said)) return said
      }
      throw new Error(`no browser came up: ${said}`)
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
      // The browser shows the proxy's refusal instead of a page.
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
      const { response } = browserHumanApi.browserClose
      expect(response.parse(closed.json())).toMatchObject({ state: 'closed', was_open: true })
      await gone
    })

    const viewOf = async (agent: string) =>
      browserHumanApi.browsers.response
        .parse((await mesh.call(browserHumanEndpoints.browsers)).json())
        .browsers.find(({ agent_id }) => agent_id === agent)
    const containersOf = (agent: string) =>
      engine.docker.listContainers({
        all: true,
        filters: {
          label: ['flotilla.role=browser', `flotilla.home=${homeTag(homeId)}`, `flotilla.agent=${agent}`],
        },
      })
    /**
     * Runs a command in the container of ada's browser as the user of its programs, since root in there may not
     * kill other users' processes.
     */
    async function inside(command: string): Promise<string> {
      const [container] = await containersOf('ada')
      const exec = await engine.docker.getContainer(container?.Id ?? '').exec({
        Cmd: ['sh', '-c', command],
        User: '1000:1000',
        AttachStdout: true,
        AttachStderr: true,
        Tty: true,
      })
      let text = ''
      for await (const chunk of await exec.start({ Tty: true })) text += String(chunk)
      return text
    }
    /** Starts a run that waits in the middle of a browser action, in a conversation of its own. */
    async function waiting(session: string, words = 'wait'): Promise<string> {
      const id = await mesh.submit(words, { agent: 'ada', session })
      await eventually('its browser is at work', async () => (await viewOf('ada'))?.acting === true)
      return id
    }

    // A kill of the display program is also tested in browser-service.test.ts.
    it.each(isSoak ? ['chromium', 'Xvnc'] : ['chromium'])(
      'a kill of %s in mid-action costs neither the run nor a display',
      async (program) => {
        heedsLesson(117)
        await opened()
        const id = await waiting(program)
        expect(await inside(`kill -9 $(ps -C ${program} -o pid= | head -1)`)).toBe('')
        expect((await mesh.ended(id)).outcome).toMatchObject({ text: 'Went on after browser-crashed.' })
        expect(await use('ada', 'browser_navigate', { url })).toContain('Shop')
        const processes = await inside('ps -e -o stat=,comm=')
        expect(processes).not.toMatch(/^Z|defunct/m)
        expect(processes.match(/Xvnc/g)).toHaveLength(1)
      },
    )

    it('a kill of the serving process is reported, fails no run, and frees its place at once', async () => {
      heedsLesson(122)
      await opened()
      const id = await waiting('service')
      // The brackets keep pgrep from finding this command itself.
      await inside('kill -9 $(pgrep -f "[b]rowser.cjs")').catch(() => '')
      expect((await mesh.ended(id)).outcome).toMatchObject({ text: 'Went on after upstream-failed.' })
      const lost = await eventually('its end is noticed', async () => {
        const view = await viewOf('ada')
        return view?.state === 'failed' ? view : null
      })
      expect(lost.reason).toMatch(/container of the browser ended with exit code 137/)
      expect(await containersOf('ada')).toEqual([])
      expect((await flotilla(mesh, 'doctor')).out).toContain(
        'the browser of ada: the container of the browser ended',
      )
      expect(await use('bob', 'browser_navigate', { url })).toContain('Shop')
      await mesh.call(browserHumanEndpoints.browserClose, { params: { id: 'bob' } })
    })

    it('a killed mesh in mid-action costs no run', async () => {
      await opened()
      const id = await waiting('mesh', 'wait briefly')
      await mesh.kill9()
      await mesh.restart()
      expect((await mesh.ended(id)).outcome).toMatchObject({ text: expect.stringMatching(/^Went on after /) })
      // Of the old and the new browser, at most one container exists.
      expect((await containersOf('ada')).length).toBeLessThanOrEqual(1)
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
      expect(await opened()).toContain('Shop')
    })
  },
  found,
)
