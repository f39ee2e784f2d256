import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { browserHumanApi } from '@flotilla/protocol/browser-api'
import { browserHumanEndpoints } from '@flotilla/protocol/browser-endpoints'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aCassette, calls, says } from '../support/cassettes.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMesh, startMeshForTest } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { verifies } from '../verifies.ts'

const cassette = aCassette({
  when: '^look$',
  turns: [
    calls('browser_navigate', { url: 'https://example.com/' }),
    says('{{why}}', { capture: { why: '(browser-unavailable|denied)' } }),
  ],
})

let mesh: MeshProcess
beforeAll(async () => {
  mesh = await startMesh({ cassettes: { browser: cassette } })
  await mesh.createWorker('scout')
})
afterAll(() => mesh?.stop())

it('where agents run as plain processes a browser is refused in words, by the agent’s API and by every list', async () => {
  const ask = async (session: string) => (await mesh.ask('look', { agent: 'scout', session })).outcome?.text
  expect(await ask('a')).toBe('denied')
  const granted = await flotilla(mesh, 'permissions', 'set', 'scout', 'can_use_browser=true')
  expect(granted).toMatchObject({ code: 0 })
  expect(await ask('b')).toBe('browser-unavailable')

  const listed = browserHumanApi.browsers.response.parse(
    (await mesh.call(browserHumanEndpoints.browsers)).json(),
  )
  expect(listed).toMatchObject({
    unavailable: expect.stringContaining('container'),
    max_live: 2,
    browsers: [],
  })
  expect((await flotilla(mesh, 'browser')).out).toContain(
    'There are no browsers: agents run as plain processes',
  )
  const address = (await flotilla(mesh, 'browser', 'scout', '--open')).out.trim()
  expect(new URL(address).pathname).toBe('/agent-vnc/scout/')
  expect(await flotilla(mesh, 'browser', '--open')).toMatchObject({ code: 2 })
  const closed = await mesh.call(browserHumanEndpoints.browserClose, { params: { id: 'scout' } })
  const none = { state: 'closed', page: null, was_open: false }
  expect(browserHumanApi.browserClose.response.parse(closed.json())).toMatchObject(none)
  expect(await flotilla(mesh, 'browser', 'scout', '--close')).toMatchObject({
    code: 0,
    out: 'No browser of scout was open.\n',
  })
  const told = await flotilla(mesh, 'browser', 'scout', '--close', '--json')
  expect(JSON.parse(told.out)).toMatchObject(none)
})

it('a name that the browser does not know is refused when it is written', async () => {
  const refused = await flotilla(mesh, 'permissions', 'set', 'scout', 'browser_actions=navigate,fly')
  expect(refused.code).not.toBe(0)
  expect(`${refused.out}${refused.err}`).toContain('the browser does not know fly')
  expect(await flotilla(mesh, 'permissions', 'set', 'scout', 'browser_actions=navigate')).toMatchObject({
    code: 0,
  })
})

it('a CAPTCHA solver is set up only by the environment, and a file with its keys sets up nothing', async () => {
  verifies('resources:credential:captcha-environment-only')
  const keys = {
    CAPTCHA_SOLVER_KEY: 'canary-primary',
    CAPTCHA_SOLVER_KEY_SECONDARY: 'canary-secondary',
    CAPTCHA_SOLVER_PROXY_LOGIN: 'canary-login',
    CAPTCHA_SOLVER_PROXY_PASSWORD: 'canary-password',
  }
  const doctor = async (of: MeshProcess) => JSON.stringify((await of.command('doctor')).lines)
  await mesh.kill9()
  const settingsFile = join(mesh.home, 'config', 'settings.json')
  const settings = JSON.parse(await readFile(settingsFile, 'utf8')) as object
  await writeFile(settingsFile, JSON.stringify({ ...settings, ...keys }))
  const written = Object.entries(keys).map(([name, value]) => `${name}=${value}\n`)
  await appendFile(join(mesh.home, '.env'), written.join(''), { mode: 0o600 })
  await mesh.restart()
  const ofFiles = await doctor(mesh)
  expect(ofFiles).toContain('findings')
  expect(ofFiles).not.toContain('captcha-solver')
  const set = { browser: { captcha: { solver_url: 'http://127.0.0.1:9/', per_hour: 7 } } }
  const ofEnvironment = await doctor(await startMeshForTest({ environment: keys, settings: set }))
  expect(ofEnvironment).toContain('CAPTCHAs are answered by 127.0.0.1:9, at most 7 an hour')
  expect(`${ofFiles}${ofEnvironment}`).not.toContain('canary')
})
