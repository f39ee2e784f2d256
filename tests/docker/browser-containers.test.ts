import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { browserTokenFile } from '@flotilla/protocol/browser-service-api'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { makeMeshKey } from '../../packages/agent/src/testing/mesh-proof.ts'
import { dataPaths } from '../../packages/foundation/src/config/index.ts'
import { unusedInHome } from '../../packages/operations/src/pruning/index.ts'
import type { BrowserContainers } from '../../packages/fleet/src/sandbox/browser-containers.ts'
import { browserContainersConformance } from '../../packages/fleet/src/sandbox/browser-containers.conformance.ts'
import { browserVolumeName } from '../../packages/fleet/src/sandbox/docker/browser-container.ts'
import { labelKeys } from '../../packages/fleet/src/sandbox/hardening/container-options.ts'
import { unusedInEngine } from '../../packages/fleet/src/sandbox/docker/unused-in-engine.ts'
import { networkNames } from '../../packages/fleet/src/sandbox/network/private-network.ts'
import { profileVolumesFolder } from '../../packages/fleet/src/sandbox/volume/limited-volumes.ts'
import { heldPort } from '../support/held-port.ts'
import { patient } from '../support/patience.ts'
import { heedsLesson } from '../verifies.ts'
import { imageCaches } from './image-caches.ts'
import { engineOfThisMachine, useDockerHome, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const root = fileURLToPath(new URL('../..', import.meta.url))
const uid = process.getuid?.() ?? 0
const proxyPort = await heldPort()
const run = promisify(execFile)

withEngine(
  'containers of browsers',
  (engine) => {
    const cacheDirectory = imageCaches
    const home = useDockerHome(engine, {
      cacheDirectory,
      browser: {
        recipeDirectory: join(root, 'images', 'browser'),
        browserEntry: join(root, 'packages', 'browser', 'src', 'main.ts'),
        proxyPort,
      },
    })
    let containers: BrowserContainers
    let briefingDirectory: string
    let listener: Server | undefined
    let erased = false
    const never = new AbortController().signal
    const specOf = (agentId: string) => ({
      agentId,
      meshPublicKey: makeMeshKey().publicKey,
      proxyPort,
      briefingDirectory,
      profileLimitBytes: 64 * 1024 * 1024,
    })
    const listen = async ({ host, port }: { readonly host: string; readonly port: number }) => {
      if (listener !== undefined) return
      const server = createServer((socket) => socket.on('error', () => undefined).end())
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, host, resolve)
      })
      listener = server
    }

    beforeAll(
      async () => {
        const { browsers } = home().runtime
        if (browsers === null) throw new Error('an engine has browsers')
        containers = browsers
        briefingDirectory = await mkdtemp(join(tmpdir(), 'flotilla-browsers-'))
        await chmod(briefingDirectory, 0o755)
        await writeFile(join(briefingDirectory, browserTokenFile), 'token', { mode: 0o644 })
        await containers.prepare(never)
        await listen(containers.proxyPlace())
      },
      // On a new machine the image is built first.
      patient(15 * 60_000),
    )
    afterAll(async () => {
      const { runtime } = home()
      await runtime.browsers?.removeAll()
      if (!erased) await erase()
      await new Promise((resolve) => (listener ? listener.close(resolve) : resolve(undefined)))
    })

    async function erase(): Promise<void> {
      const again = await home().again()
      await again.erase({ progress: () => {} })
      await again.close()
      erased = true
    }

    browserContainersConformance('the engine', async () => ({ containers, listen, specOf }))

    const volumesOf = async (agentId: string) => {
      const { Volumes } = await engine.docker.listVolumes({
        filters: { label: [`${labelKeys.home}=${home().homeTag}`] },
      })
      return Volumes.filter(({ Name }) => Name === browserVolumeName(home().homeId, agentId)).length
    }
    const fileOf = (agentId: string) =>
      join(profileVolumesFolder(home().volumesFolder), `${Buffer.from(agentId).toString('hex')}.ext4`)
    const unused = async () => {
      const isAgent = (agentId: string) => agentId === 'living'
      const hints = {
        uid,
        engineSocket: process.env['FLOTILLA_ENGINE_SOCKET'],
        dockerHost: process.env['DOCKER_HOST'],
      }
      const { homeId, volumesFolder } = home()
      const look = { hints, homeId, isAgent, cacheDirectory, now: Date.now() }
      const inEngine = (await unusedInEngine(look)) ?? []
      const paths = { ...dataPaths(join(volumesFolder, '..', 'home')), volumesFolder }
      await mkdir(paths.dataFolder, { recursive: true })
      return {
        inEngine: inEngine.filter(({ kind }) => kind !== 'image'),
        inHome: await unusedInHome(paths, isAgent),
      }
    }

    describe('their walls', () => {
      const bridge = () => networkNames(home().homeTag, 'browsers').bridge

      it.runIf(uid === 0)(
        'the walls of browsers in containers are found open by name where a rule of the host lets them through',
        async () => {
          heedsLesson(123)
          const rule = ['INPUT', '-i', bridge(), '-j', 'ACCEPT']
          await run('iptables', ['-w', '5', '-I', ...rule])
          onTestFinished(() => run('iptables', ['-w', '5', '-D', ...rule]).then(() => undefined))
          const walls = await containers.checkWalls(never)
          const open = walls.filter(({ holds }) => !holds).map(({ id }) => id)
          expect(open).toContain('host-ports-closed')
          expect(open).not.toContain('other-sandboxes-closed')
        },
      )

      it('the walls of browsers in containers are no walls where the proxy does not answer', async () => {
        const server = listener
        listener = undefined
        await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)))
        onTestFinished(() => listen(containers.proxyPlace()))
        const walls = await containers.checkWalls(never)
        expect(walls.filter(({ holds }) => !holds).map(({ id }) => id)).toEqual(['browser-proxy-open'])
      })
    })

    describe('what one keeps', () => {
      it('the browser of an agent survives a stop, is deleted with its agent, and its absence is reported', async () => {
        // Removes the profiles of the tests before.
        for (const agentId of ['ada', 'bob']) await containers.removeProfile(agentId)
        await containers.start(specOf('living'))
        await containers.start(specOf('gone'))
        const isLimited = existsSync(fileOf('gone'))
        const beside = () =>
          home()
            .runtime.beside()
            .map(({ name }) => name)
        expect(beside()).toEqual(['the browser of living', 'the browser of gone'])
        for (const agentId of ['living', 'gone']) await containers.stop(agentId)
        expect(beside()).toEqual([])
        expect([await volumesOf('living'), await volumesOf('gone')]).toEqual([1, 1])

        const { inEngine, inHome } = await unused()
        expect(inEngine.map(({ name }) => name)).toEqual([browserVolumeName(home().homeId, 'gone')])
        expect(inHome.map(({ name }) => name)).toEqual(isLimited ? [fileOf('gone')] : [])
        for (const thing of [...inEngine, ...inHome]) expect(await thing.remove(), thing.name).toBe(true)
        expect([await volumesOf('gone'), existsSync(fileOf('gone'))]).toEqual([0, false])

        await containers.start(specOf('living'))
        await containers.removeProfile('living')
        await containers.removeProfile('living')
        expect([await volumesOf('living'), existsSync(fileOf('living'))]).toEqual([0, false])
        expect(await containers.inspect('living')).toBeNull()
      })

      it('the profile of a browser goes with the whole home, and the network with it', async () => {
        await containers.start(specOf('living'))
        await erase()
        expect([await volumesOf('living'), existsSync(fileOf('living'))]).toEqual([0, false])
        expect(await containers.inspect('living')).toBeNull()
        const { name } = networkNames(home().homeTag, 'browsers')
        const networks = await engine.docker.listNetworks({ filters: { name: [name] } })
        expect(networks).toEqual([])
      })
    })
  },
  found,
)
