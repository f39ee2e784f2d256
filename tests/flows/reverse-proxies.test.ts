import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { webhookApi, webhookEndpoints } from '@flotilla/protocol/webhook-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { debianPrograms } from '../support/debian-package.ts'
import { eventually } from '../support/eventually.ts'
import { heldPort } from '../support/held-port.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { readmeSteps } from '../support/readme-steps.ts'

interface Proxy {
  readonly url: string
  stop(): Promise<void>
}

let folder = ''
let mesh: MeshProcess
let hook = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flotilla-proxies-'))
  mesh = await startMesh({ cassettes: { talk: aCassette({ when: 'build', turns: [says('Seen.')] }) } })
  await mesh.createWorker('scout')
  const made = await mesh.call(webhookEndpoints.webhookCreate, {
    body: { name: 'builds', agent_id: 'scout', signed: false },
  })
  hook = webhookApi.webhookCreate.response.parse(made.json()).webhook.id
})
afterAll(async () => {
  await mesh.stop()
  await rm(folder, { recursive: true, force: true, maxRetries: 5 })
})

/** Returns the guide's block of this language, with the address of this test's mesh. */
async function fromTheGuide(language: string): Promise<string> {
  const page = await readFile(join(repositoryRoot, 'docs', 'guide', 'webhooks.md'), 'utf8')
  const step = readmeSteps(page).find((one) => one.kind === 'block' && one.language === language)
  if (step?.kind !== 'block') throw new Error(`the guide has no block in ${language}`)
  expect(step.text).toContain('127.0.0.1:8420')
  return step.text.replaceAll('127.0.0.1:8420', new URL(mesh.url).host)
}

async function startProxy(program: string, options: readonly string[], port: number): Promise<Proxy> {
  const child = spawn(program, options, {
    cwd: folder,
    env: { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  const keep = (piece: Buffer) => (text = (text + piece.toString()).slice(-4000))
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  const ended = once(child, 'exit')
  const url = `http://127.0.0.1:${port}`
  await eventually(`${program} answers`, async () => {
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}: ${text}`)
    return fetch(url).then(
      () => true,
      () => false,
    )
  })
  return {
    url,
    stop: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}

async function startNginx(): Promise<Proxy | null> {
  const programs = await debianPrograms(folder, ['nginx'], 'nginx')
  if (programs === null) return null
  const port = await heldPort()
  const kept = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join('\n')
  const configuration = `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr;
    events {}
    http { access_log off; ${kept} server { listen 127.0.0.1:${port}; ${await fromTheGuide('nginx')} } }`
  await writeFile(join(folder, 'nginx.conf'), configuration)
  return startProxy(join(programs, 'nginx'), ['-p', folder, '-c', join(folder, 'nginx.conf')], port)
}

async function startCaddy(): Promise<Proxy | null> {
  const place = join(folder, 'caddy')
  await mkdir(place)
  const programs = await debianPrograms(place, ['caddy'], 'caddy')
  if (programs === null) return null
  const port = await heldPort()
  // The host name of the page would request a certificate from the internet.
  const site = (await fromTheGuide('caddyfile')).replace('hooks.example.com', `http://127.0.0.1:${port}`)
  await writeFile(join(place, 'Caddyfile'), `{\n\tadmin off\n}\n${site}`)
  return startProxy(
    join(programs, 'caddy'),
    ['run', '--config', join(place, 'Caddyfile'), '--adapter', 'caddyfile'],
    port,
  )
}

describe.each([
  ['nginx', startNginx],
  ['caddyfile', startCaddy],
])('the reverse proxy of the guide, in %s', (_language, start) => {
  it('the reverse proxy of the guide passes what is for webhooks, and nothing that is for people', async ({
    skip,
  }) => {
    const proxy = await start()
    if (proxy === null) return skip('the package could not be had')
    try {
      const event = (body: string) =>
        fetch(`${proxy.url}/webhook/hook/${hook}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
        })
      const taken = await event('{"build": 7}')
      expect(taken.status, await taken.clone().text()).toBe(202)
      expect((await event(JSON.stringify({ pad: 'x'.repeat(1_048_576) }))).status).toBe(413)
      for (const path of [
        '/',
        '/api/agents',
        '/metrics',
        '/ws/events',
        '/webhook/../api/agents',
        '/v1/models',
      ]) {
        expect((await fetch(`${proxy.url}${path}`)).status, path).toBe(404)
      }
    } finally {
      await proxy.stop()
    }
  })
})
