import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { createServer } from 'node:tls'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readProxies } from '../../packages/foundation/src/config/proxy-environment.ts'
import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'
import { ensureImage } from '../../packages/fleet/src/sandbox/image/ensure-image.ts'
import { startConnectProxy } from '../support/connect-proxy.ts'
import type { ConnectProxy } from '../support/connect-proxy.ts'
import { flotillaWith } from '../support/flotilla-command.ts'
import { startLlmUpstream } from '../support/llm-upstream.ts'
import type { LlmUpstream } from '../support/llm-upstream.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startNameServer } from '../support/name-server.ts'
import type { NameServer } from '../support/name-server.ts'
import { makeCertificate, startPackageSite } from '../support/package-site.ts'
import type { PackageSite } from '../support/package-site.ts'
import { patient } from '../support/patience.ts'
import { fetchTinyproxy, startTinyproxy } from '../support/tinyproxy.ts'
import type { Tinyproxy } from '../support/tinyproxy.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const models = 'models.corp.test'
const shop = 'shop.example.com'
const closed = 'closed.example.com'
/** The name of a private address that the owner allows for agents. */
const inHouse = 'in-house.corp.test'
/** The public address of both sites; tinyproxy reaches it through `outside`, which connects to a site on loopback. */
const address = '93.184.216.34'
const folder = await mkdtemp(join(tmpdir(), 'flotilla-company-'))
const program = found.engine ? await fetchTinyproxy(folder) : null
afterAll(() => rm(folder, { recursive: true, force: true }))

/** A fleet in containers whose mesh reaches the outside through a company's proxy only. */
withEngine(
  'a company’s proxy',
  (engine) => {
    if (program === null) {
      it('the package tinyproxy-bin can be downloaded', ({ skip }) => {
        if (process.env['FLOTILLA_REQUIRE_ENGINE'] !== '1') skip('tinyproxy-bin cannot be downloaded')
        expect.fail('tinyproxy-bin cannot be downloaded')
      })
      return
    }
    let company: Tinyproxy
    let outside: ConnectProxy
    let site: PackageSite
    let upstream: LlmUpstream
    let tls: ReturnType<typeof createServer>
    let names: NameServer
    let mesh: MeshProcess
    let environment: Record<string, string>
    let provider: string

    beforeAll(
      async () => {
        site = await startPackageSite(shop)
        outside = await startConnectProxy({ [address]: site.plainPort })
        company = await startTinyproxy({
          program,
          names: [models, shop],
          outside: { address, port: outside.port },
        })
        upstream = await startLlmUpstream()
        const [key, cert] = await makeCertificate(folder, models)
        const inner = Number(new URL(upstream.baseUrl).port)
        tls = createServer({ key, cert }, (socket) => {
          const far = connect(inner, '127.0.0.1')
          for (const [one, other] of [
            [socket, far],
            [far, socket],
          ] as const)
            one
              .on('error', () => other.destroy())
              .on('close', () => other.destroy())
              .pipe(other)
        })
        await new Promise<void>((resolve) => tls.listen(0, '127.0.0.1', resolve))
        provider = `${models}:${(tls.address() as AddressInfo).port}`
        // Only the proxy knows the provider's address.
        names = await startNameServer((name) => {
          if (name === inHouse) return ['127.0.0.1']
          return name === shop || name === closed ? [address] : null
        })
        environment = {
          FLOTILLA_NO_INSTALL: '1',
          HTTP_PROXY: company.withPassword,
          HTTPS_PROXY: company.withPassword,
          NODE_EXTRA_CA_CERTS: join(folder, 'certificate.pem'),
        }
        mesh = await startMesh({
          runtime: 'docker',
          environment,
          settings: {
            default_model: 'corp/m',
            providers: { corp: { kind: 'openai-compatible', base_url: `https://${provider}/v1` } },
            models: { 'corp/m': { local: true } },
            egress: {
              use_proxy: true,
              dns_servers: [`127.0.0.1:${names.port}`],
              allowed_private: [`${inHouse}:${site.plainPort}`],
              allowed_ports: [80, 443, 8420, 8421],
              allowed_hosts: { clerk: [shop, inHouse] },
            },
          },
        })
        await mesh.createWorker('clerk')
      },
      patient(15 * 60_000),
    )
    afterAll(async () => {
      await mesh?.stop()
      await site?.close()
      names?.close()
      await upstream?.close()
      await new Promise((resolve) => tls?.close(resolve))
      await company?.stop()
      await outside?.close()
    }, patient(60_000))

    /** Returns what `work` gives, and the destinations that the proxy was asked for meanwhile. */
    async function during<T>(work: () => Promise<T>) {
      const before = (await company.asked()).length
      const value = await work()
      return { value, asked: (await company.asked()).slice(before) }
    }
    async function inside(command: string): Promise<string> {
      const { outcome } = await mesh.invoke('clerk', 'run_command', { command, timeout_s: 60 })
      return `${outcome?.text} ${JSON.stringify(outcome?.result)}`
    }

    it('the mesh asks its provider through the proxy, with the password, over TLS', async () => {
      const { value, asked } = await during(() => mesh.ask('hello', { agent: 'clerk' }))
      expect(value.outcome).toMatchObject({ status: 'done', text: 'Hello there' })
      expect(new Set(asked)).toEqual(new Set([`CONNECT ${provider}`]))
      expect(upstream.calls.length).toBeGreaterThan(0)
    })

    /** Requests the address as an agent does: by its tool, and by a program. */
    async function asking(url: string) {
      const requests = site.requests.length
      const { value, asked } = await during(async () => [
        JSON.stringify((await mesh.invoke('clerk', 'http_request', { url })).outcome),
        await inside(`curl -sS -w ' %{http_code}' ${url}`),
      ])
      return { said: value.join('\n'), asked, received: site.requests.slice(requests) }
    }

    it('an agent in a container reaches an allowed host through the proxy, by its tool and by a program', async () => {
      const { said, asked, received } = await asking(`http://${shop}/page`)
      expect(received, said).toHaveLength(2)
      // The mesh has checked the address and gives it to the proxy, which therefore cannot resolve another one.
      expect(asked).toEqual([`CONNECT ${address}:80`, `CONNECT ${address}:80`])
      for (const { headers } of received) {
        expect(headers.host).toBe(shop)
        expect(headers).not.toHaveProperty('proxy-authorization')
      }
    })

    it('a host that the agent may not reach is not asked for at the proxy', async () => {
      const { said, asked, received } = await asking(`http://${closed}/page`)
      expect([asked, received]).toEqual([[], []])
      expect(said).toContain(closed)
    })

    it('a private address that the owner opened is reached directly', async () => {
      const { said, asked, received } = await asking(`http://${inHouse}:${site.plainPort}/page`)
      expect(received, said).toHaveLength(2)
      expect(asked).toEqual([])
    })

    it('loopback and the network of the fleet never go to the proxy, and the agent does not learn its password', async () => {
      const { value, asked } = await during(async () => {
        const own = await inside(
          [
            'python3 -m http.server 9977 --bind 127.0.0.1 >/dev/null 2>&1 & server=$!',
            "for url in http://127.0.0.1:9977/ http://localhost:9977/; do curl -sS --retry 20 --retry-delay 1 --retry-connrefused -o /dev/null -w '%{http_code} ' $url; done",
            'kill $server',
            // The first request goes to the agent API at the gateway of the fleet's network.
            'curl -sS -o /dev/null -w "%{http_code} " $OPENAI_BASE_URL/models -H "authorization: Bearer $OPENAI_API_KEY"',
          ].join('\n'),
        )
        for (const host of ['127.0.0.1', 'localhost', '[::1]', '10.64.0.1'])
          await mesh.invoke('clerk', 'http_request', { url: `http://${host}:8420/` })
        const status = await flotillaWith({ url: mesh.url, home: mesh.home, environment }, 'status')
        expect(status.code, status.err).toBe(0)
        return own
      })
      expect(value).toContain('200 200 200')
      expect(asked).toEqual([])
      expect(await inside('env; cat /proc/[0-9]*/environ 2>/dev/null')).not.toContain('secret-word')
    })

    it(
      'an image is built with downloads through the proxy, whose password is not in the image',
      async () => {
        const recipe = join(folder, 'recipe')
        await mkdir(recipe)
        const base = await agentBase()
        const page = `http://${shop}:${site.plainPort}/page?${Date.now()}`
        const fetchPage = `python3 -c "import urllib.request; urllib.request.urlopen('${page}').read()"`
        await writeFile(join(recipe, 'Dockerfile'), `ARG BASE\nFROM \${BASE}\nUSER root\nRUN ${fetchPage}\n`)
        await writeFile(join(recipe, 'packages.txt'), '')
        const cacheDirectory = join(folder, 'caches')
        const { value, asked } = await during(() =>
          ensureImage(
            {
              engine,
              recipeDirectory: recipe,
              packageDirectory: recipe,
              cacheDirectory,
              homeId: 'company-proxy-test',
              volumesFolder: join(folder, 'volumes'),
              baseImage: base,
              proxyVariables: readProxies(environment).forPrograms(),
              noInstall: true,
              uid: process.getuid?.() ?? 0,
              clock: systemClock,
              progress: () => undefined,
            },
            {
              name: 'localhost/flotilla/company-proxy-test:',
              label: 'the image of the test',
              recipeFiles: ['Dockerfile', 'packages.txt'],
              parts: [],
              prepare: async () => async () => [],
            },
          ),
        )
        const image = engine.docker.getImage(value.id)
        try {
          expect(asked).toEqual([`GET ${page}`])
          const facts = JSON.stringify([await image.history(), await image.inspect()])
          expect(facts).not.toContain('secret-word')
        } finally {
          await image.remove({ force: true })
        }
      },
      patient(300_000),
    )

    /** Returns the image of the running agents, as a base image that exists in the engine. */
    async function agentBase(): Promise<string> {
      const containers = await engine.docker.listContainers()
      const [own] = containers.filter(({ Labels }) => Labels['flotilla.agent'] === 'clerk')
      if (own === undefined) throw new Error('the agent has no container')
      return own.ImageID
    }
  },
  found,
)
