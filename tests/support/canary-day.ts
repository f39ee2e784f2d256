import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { vaultHumanEndpoints } from '@flotilla/protocol/vault-api'
import { expect } from 'vitest'
import { cassetteSchema } from '../../packages/inference/src/models/recording/cassette.ts'
import { environmentOnlyNames } from '../../packages/foundation/src/config/environment-only.ts'
import { editPermissions } from './edit-permissions.ts'
import { aCassette, calls, operatorHandsOff, says } from './cassettes.ts'
import type { Canary } from './canary-hunt.ts'
import { openMesh } from './mesh-process.ts'
import type { MeshOptions, MeshProcess } from './mesh-process.ts'
import { startWebServer } from './web-server.ts'
import type { WebServer } from './web-server.ts'

/** A harmless value beside every canary; finding it where answers are stored proves that the hunt works. */
export const decoy = `decoy${randomBytes(9).toString('hex')}`

const canary = (name: string): Canary => ({ name, value: `zq${name}${randomBytes(12).toString('hex')}` })

export interface CanaryDay {
  readonly canaries: readonly Canary[]
  readonly web: WebServer
  /** Another origin, to which no credential is bound. */
  readonly far: WebServer
  readonly options: MeshOptions
  /** Content of `.env` before the first start. */
  readonly envFile: string
  /** Lets a fleet do a day's work with its credentials. */
  work(mesh: MeshProcess): Promise<void>
  value(name: string): string
  close(): Promise<void>
}

/**
 * A fleet that uses credentials in every possible way, against a server that echoes everything in all encodings,
 * redirects to misleading addresses, and breaks connections off. The canaries are two provider keys of the system
 * tier, two bound credentials of the agent tier, an unbound one, one that the owner stores while the fleet works,
 * and one with a CAPTCHA name.
 */
export async function aCanaryDay(options: { readonly isolated: boolean }): Promise<CanaryDay> {
  // Without isolation, a program may read the environment of the mesh itself.
  const whose = options.isolated ? ['*'] : ['self', '$PPID']
  const processes = whose.map((one) => `/proc/${one}/environ /proc/${one}/cmdline`).join(' ')
  const canaries = ['provider', 'system', 'bound', 'basic', 'loose', 'late', 'captcha'].map(canary)
  const value = (name: string) => canaries.find((one) => one.name === name)?.value ?? ''
  const far = await startWebServer((_request, response) => response.end('far away'))
  const web: WebServer = await startWebServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://x')
    const sent = web.requests.at(-1)
    const told = JSON.stringify({ decoy, url: request.url, headers: request.headers, body: sent?.body })
    const leak = [value('bound'), value('basic'), value('late')]
    if (pathname.startsWith('/v1/')) {
      response.writeHead(401, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({ error: { message: `wrong key ${request.headers.authorization} ${decoy}` } }),
      )
    } else if (pathname === '/away') {
      response.writeHead(302, { location: `http://127.0.0.1:${far.port}/plain`, 'x-echo': told }).end()
    } else if (pathname === '/leak') {
      response.writeHead(302, { location: `http://127.0.0.1:${far.port}/?k=${leak.join('.')}` }).end()
    } else if (pathname === '/breaks') {
      response.writeHead(200, { 'content-length': '9999' }).write(told)
      setTimeout(() => response.destroy(), 20)
    } else {
      response.writeHead(pathname === '/error' ? 500 : 200, { 'x-told': told, [`x-${leak[0]}`]: '1' })
      response.end([told, ...leak.flatMap(spellings)].join('\n'))
    }
  })
  const place = `127.0.0.1:${web.port}`
  const bound = { hosts: [`http://${place}`] }
  const url = `http://${place}`
  const filled = {
    url: `http://ann:$CRED{basic}@${place}/echo?k=$CRED{bound}`,
    method: 'POST',
    headers: { 'x-key': '$CRED{BOUND}', 'content-type': 'application/json' },
    body: '{"k":"$CRED{bound}"}',
  }

  const day = aCassette(
    ...operatorHandsOff({
      when: '^fetch it$',
      to: 'clerk',
      title: 'Fetch it',
      capture: { all: '(.*)' },
      answer: 'Fetched: {{all}}',
    }),
    {
      agents: ['clerk'],
      when: 'Fetch it',
      turns: [
        calls('vault_list', {}),
        calls('http_request', filled),
        calls(
          'write_blackboard',
          { key: 'output/answer', value: { seen: '{{seen}}' } },
          { capture: { seen: '([\\s\\S]{1,6000})' } },
        ),
        calls('save_artifact', { name: 'answer.txt', content: '{{seen}}' }),
        calls('write_file', { path: 'answer.txt', content: '{{seen}}' }),
        calls('notify_user', { message: `Fetched ${decoy} with $CRED{bound}.` }),
        calls('http_request', { ...filled, url: `${url}/error` }),
        calls('http_request', { ...filled, url: `${url}/away` }),
        calls('http_request', { ...filled, url: `${url}/leak` }),
        calls('http_request', { ...filled, url: `${url}/breaks` }),
        calls('http_request', { url: `http://127.0.0.1:${far.port}/?k=$CRED{bound}` }),
        calls('http_request', { url: `${url}/?k=$CRED{loose}` }),
        calls('http_request', { url: `${url}/?k=$CRED{system}&l=$CRED{FLOTILLA_SYSTEM_SYSTEM}` }),
        calls('http_request', { url: `${url}/echo-of-before` }),
        calls('run_command', {
          command: `env; cat ${processes} 2>/dev/null | tr "\\0" "\\n"; ls -laR .`,
          timeout_s: 60,
        }),
        calls('complete_task', { summary: `Done with ${decoy}: {{seen}}`, result: { seen: '{{seen}}' } }),
        says('Done.'),
      ],
    },
    {
      agents: ['clerk'],
      when: '^once more$',
      turns: [
        calls('http_request', filled),
        says('It said {{all}}', { capture: { all: '([\\s\\S]{1,3000})' } }),
      ],
    },
  )
  return {
    canaries,
    web,
    far,
    value,
    envFile: [
      `FLOTILLA_SYSTEM_FAKE_KEY=${value('provider')}`,
      `FLOTILLA_CRED_BOUND=${value('bound')}`,
      `FLOTILLA_CRED_BASIC='${value('basic')}'`,
      '',
    ].join('\n'),
    options: {
      cassettes: { day },
      environment: {
        FLOTILLA_SYSTEM_SYSTEM: value('system'),
        FLOTILLA_CRED_LOOSE: value('loose'),
        ...Object.fromEntries(environmentOnlyNames.map((name) => [name, value('captcha')])),
        FLOTILLA_NO_INSTALL: '1',
        FLOTILLA_LOG_LEVEL: 'debug',
      },
      settings: {
        egress: { allowed_private: [place, `127.0.0.1:${far.port}`] },
        providers: {
          fake: { kind: 'openai-compatible', base_url: `${url}/v1`, api_key: 'fake_key', local: true },
        },
        CAPTCHA_SOLVER_KEY: value('captcha'),
      },
    },
    close: async () => {
      await Promise.all([web.close(), far.close()])
    },
    work: async (mesh) => work(mesh, { web, value, bound, filled, url }),
  }
}

interface Surroundings {
  readonly web: WebServer
  readonly url: string
  readonly bound: { readonly hosts: readonly string[] }
  readonly filled: object
  value(name: string): string
}

async function work(mesh: MeshProcess, { web, value, bound, filled, url }: Surroundings): Promise<void> {
  const good = async (
    endpoint: Parameters<MeshProcess['call']>[0],
    options: Parameters<MeshProcess['call']>[1],
  ) => {
    const reply = await mesh.call(endpoint, options)
    expect(reply.status, `${endpoint.method} ${endpoint.path} ${reply.text}`).toBeLessThan(300)
    return reply
  }
  await mesh.createWorker('clerk')
  await mesh.createWorker('thinker', { model: 'fake/any' })
  await editPermissions(mesh, 'clerk', { allowed_credentials: ['*'] })
  for (const name of ['bound', 'basic']) {
    await good(vaultHumanEndpoints.credentialBind, { params: { name }, body: bound })
  }
  await good(vaultHumanEndpoints.credentialSet, {
    params: { name: 'late' },
    body: { value: value('late'), ...bound },
  })

  await good(meshHumanEndpoints.recordingStart, { body: {} })
  expect((await mesh.ask('fetch it')).outcome).toMatchObject({ status: 'done' })
  expect(web.requests.filter((request) => request.body.includes(value('bound'))).length).toBeGreaterThan(0)
  // The provider's error message quotes the key that it received.
  const refused = await mesh.ask('think', { agent: 'thinker' })
  expect(refused.outcome?.status).toBe('failed')
  expect(web.requests.some(({ headers }) => headers.authorization === `Bearer ${value('provider')}`)).toBe(
    true,
  )
  const late = await mesh.invoke('clerk', 'http_request', {
    url: `${url}/echo?k=$CRED{late}`,
    headers: { 'x-late': '$CRED{late}' },
  })
  expect(late.outcome?.status, late.outcome?.text).toBe('done')
  expect(web.requests.at(-1)?.headers['x-late']).toBe(value('late'))

  await mesh.kill9()
  await mesh.restart()
  const again = await mesh.ask('once more', { agent: 'clerk' })
  expect(again.outcome).toMatchObject({ status: 'done' })
  expect(again.outcome?.text).toContain('[secret]')
  expect(await mesh.terminate()).toBe(0)
  await mesh.restart()

  // A recorded conversation is played again and stored.
  await good(meshHumanEndpoints.recordingStart, { body: {} })
  await mesh.ask('once more', { agent: 'clerk', session: 'recorded' })
  const cassette = (await good(meshHumanEndpoints.recordingStop, {})).text
  cassetteSchema.parse(JSON.parse(cassette))
  await writeFile(join(mesh.home, 'cassettes', 'recorded.json'), cassette)
  await mesh.createWorker('player', { model: 'scripted/recorded' })
  await mesh.ask('once more', { agent: 'player' })
  await mesh.invoke('clerk', 'http_request', filled)
}

function spellings(value: string): string[] {
  const bytes = Buffer.from(value)
  return [
    value,
    value.toUpperCase(),
    encodeURIComponent(value),
    [...bytes].map((byte) => `%${byte.toString(16)}`).join(''),
    Array.from(value)
      .map((letter) => `\\u00${letter.charCodeAt(0).toString(16)}`)
      .join(''),
    bytes.toString('hex'),
    ...['', 'a', 'ab'].flatMap((before) => [
      Buffer.from(`${before}${value}`).toString('base64'),
      Buffer.from(`${before}${value}z`).toString('base64url'),
    ]),
  ]
}

/** Starts a mesh whose home has the canaries from the beginning. The caller must `stop` it. */
export async function startCanaryMesh(
  { options, envFile }: CanaryDay,
  runtime: 'process' | 'docker' = 'process',
): Promise<MeshProcess> {
  const home = await mkdtemp(join(tmpdir(), 'flotilla-canary-'))
  for (const folder of ['config', 'cassettes']) await mkdir(join(home, folder), { recursive: true })
  await writeFile(join(home, '.env'), envFile)
  const settings = { default_model: 'scripted/day', ...options.settings }
  await writeFile(join(home, 'config', 'settings.json'), JSON.stringify(settings, null, 2))
  await writeFile(join(home, 'cassettes', 'day.json'), JSON.stringify(options.cassettes?.['day'], null, 2))
  const opened = openMesh(home, { ...options, runtime })
  try {
    await opened.restart()
  } catch (error) {
    await opened.stop()
    throw error
  }
  return opened
}
