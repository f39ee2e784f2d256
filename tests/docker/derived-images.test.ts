import process from 'node:process'
import { expect, it, onTestFinished } from 'vitest'
import * as z from 'zod'
import { packageImagesConformance } from '../../packages/fleet/src/sandbox/package-images.conformance.ts'
import { unlessStatus } from '../../packages/fleet/src/sandbox/docker/unless-status.ts'
import { registriesFolderOf, withPackages } from '../../packages/fleet/src/sandbox/packages/fetch-packages.ts'
import { startBuildContainer } from '../../packages/fleet/src/sandbox/packages/build-container.ts'
import { fetchMounts } from '../../packages/fleet/src/sandbox/packages/build-mounts.ts'
import { watchDisk } from '../../packages/fleet/src/sandbox/packages/watch-disk.ts'
import { agentSize } from '../../packages/fleet/src/sandbox/default-agent-sizes.ts'
import { sandboxName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'
import { joinPackages, toolboxNames } from '../../packages/protocol/src/agent-packages.ts'
import { namesIn } from '../../packages/foundation/src/config/atomic-file.ts'
import { imageCaches } from './image-caches.ts'
import { openPrivateRegistry, pryingScript } from './private-registry.ts'
import { engineOfThisMachine, packageSources, useDockerHome, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const listedSchema = z.array(z.looseObject({ Id: z.string() }))
const progress = (): void => {}

/** Returns why packages cannot be downloaded on this machine; null if they can. */
async function whyNoRegistry(): Promise<string | null> {
  for (const url of [
    'https://registry.npmjs.org/semver',
    'http://deb.debian.org/debian/dists/bookworm/InRelease',
  ]) {
    const reply = await fetch(url, { signal: AbortSignal.timeout(20_000) }).catch((error: unknown) => error)
    if (!(reply instanceof Response) || !reply.ok) return `${url} does not answer`
    await reply.body?.cancel()
  }
  return null
}
const noRegistry = found.engine ? await whyNoRegistry() : null

withEngine(
  'images with packages',
  (engine) => {
    if (noRegistry !== null) {
      it('the registries answer', ({ skip }) => {
        if (process.env['FLOTILLA_REQUIRE_ENGINE'] !== '1') skip(noRegistry)
        expect.fail(noRegistry)
      })
      return
    }
    const home = useDockerHome(engine)
    const images = () => home().runtime.packages!
    const remove = async (id: string) => {
      await engine.docker
        .getImage(id)
        .remove({ force: true })
        .catch(unlessStatus([404]))
    }
    const remains = async () => {
      const label = [`flotilla.home=${home().homeTag}`, 'flotilla.role=packages']
      const containers = await engine.docker.listContainers({ all: true, filters: { label } })
      const unnamed = await engine.docker.listImages({ filters: { label, dangling: ['true'] } })
      const { Volumes: volumes } = await engine.docker.listVolumes({ filters: { label } })
      const sockets = await namesIn(registriesFolderOf(home()))
      return [
        ...listedSchema.parse([...containers, ...unnamed]).map(({ Id }) => Id),
        ...volumes.map(({ Name }) => Name),
        ...sockets,
      ]
    }

    packageImagesConformance('an engine', () => ({
      images: {
        ensure: (list, how) => images().ensure(list, how),
        resolve: (list, how) => images().resolve(list, how),
      },
      available: { apt: [], npm: ['semver@7.7.2'], pip: [] },
      missing: { apt: [], npm: ['semver', '@flotilla-none/no-such-package-here'], pip: [] },
      missingName: 'no-such-package-here',
      forge: (lock) => {
        const [{ integrity } = { integrity: '' }] = lock.npm
        const other = `sha512-${Buffer.alloc(64).toString('base64')}`
        return { ...lock, npm_lock: lock.npm_lock.replaceAll(integrity, other) }
      },
      remains,
      forget: remove,
    }))

    it(
      'an agent runs programs of its packages, behind the walls of every agent',
      { timeout: 600_000 },
      async () => {
        const list = { apt: ['hello'], npm: ['semver@7.7.2'], pip: [] }
        const { id, lock, installed } = await images().ensure(list, { lock: null, progress })
        expect(lock.apt).toEqual([
          {
            name: 'hello',
            version: expect.any(String),
            file: expect.stringMatching(/\.deb$/),
            sha256: expect.any(String),
          },
        ])
        expect(lock.npm).toEqual([
          { name: 'semver', version: '7.7.2', integrity: expect.stringMatching(/^sha512-/) },
        ])
        expect(installed === null || installed.some(({ name }) => name === 'semver')).toBe(true)
        const state = await home().start({ agentId: 'packed', image: id })
        const { run } = home()
        expect((await run(state, 'hello')).text).toContain('Hello, world!')
        expect((await run(state, 'semver 1.2.3')).text.trim()).toBe('1.2.3')
        expect((await run(state, 'cat /proc/1/oom_score_adj')).text.trim()).toBe('300')
        expect((await run(state, 'id -u; touch /opt/flotilla/packages/x 2>&1')).text).toMatch(
          /1000\n.*Read-only/,
        )
        expect((await run(state, 'find / -xdev -type f -perm /6000 2> /dev/null | wc -l')).text.trim()).toBe(
          '0',
        )
        expect((await run(state, 'ls /fetch /registries 2>&1; env | grep -i -c proxy')).text).not.toContain(
          'recipe',
        )
      },
    )

    it('programs of packages have no network while they are installed', { timeout: 600_000 }, async () => {
      const list = { apt: [], npm: ['semver@7.7.2'], pip: [] }
      const { lock, id } = await images().ensure(list, { lock: null, progress })
      await remove(id)
      const looks: Promise<{ readonly network: string | undefined; readonly sockets: number }>[] = []
      await images().ensure(list, {
        lock,
        progress: (step) => {
          if (!/without a network/.test(step)) return
          looks.push(
            (async () => {
              const label = [`flotilla.home=${home().homeTag}`, 'flotilla.role=packages']
              const [container] = await engine.docker.listContainers({ filters: { label } })
              const { HostConfig } = await engine.docker.getContainer(container!.Id).inspect()
              const sockets = await namesIn(registriesFolderOf(home()))
              return { network: HostConfig.NetworkMode, sockets: sockets.length }
            })(),
          )
        },
      })
      expect(await Promise.all(looks)).toEqual([{ network: 'none', sockets: 0 }])
    })

    it(
      'a build that is aborted while packages are installed leaves nothing',
      { timeout: 600_000 },
      async () => {
        const list = { apt: [], npm: ['semver@7.7.2'], pip: [] }
        const { lock, id } = await images().ensure(list, { lock: null, progress })
        await remove(id)
        const label = [`flotilla.home=${home().homeTag}`, 'flotilla.role=packages']
        const stop = new AbortController()
        const abortInstallation = async (): Promise<void> => {
          while ((await engine.docker.listContainers({ filters: { label } })).length < 2);
          stop.abort(new Error('interrupted'))
        }
        const aborted: Promise<void>[] = []
        const interrupted = images().ensure(list, {
          lock,
          signal: stop.signal,
          progress: (step) => {
            if (/without a network/.test(step)) aborted.push(abortInstallation())
          },
        })
        await expect(interrupted).rejects.toThrow('interrupted')
        await Promise.all(aborted)
        expect(await remains()).toEqual([])
      },
    )

    it('packages that fill the disk when npm unpacks them end the build', { timeout: 600_000 }, async () => {
      const registry = await openPrivateRegistry('true', 1024 ** 3)
      onTestFinished(() => registry.close())
      const { agentId } = await home().start({ agentId: 'unpacking' })
      const { Image } = await engine.docker.getContainer(sandboxName(home().homeId, agentId)).inspect()
      const hostPlaces = { userFolder: registry.userFolder, variables: {} }
      const { homeId, volumesFolder } = home()
      const packages = { ...packageSources, hostPlaces }
      const made = withPackages(
        { homeId, volumesFolder, packages, cacheDirectory: imageCaches, clock: systemClock },
        {
          base: { engine, image: Image },
          packages: { apt: [], npm: ['@private/tool'], pip: [] },
          lock: null,
          progress,
          signal: new AbortController().signal,
          downloadMaxBytes: 100 * 1024 ** 2,
          unpackedMaxBytes: 100 * 1024 ** 2,
        },
        async ({ lock }) => lock,
      )
      await expect(made).rejects.toThrow('take more than 200 MB of disk space when they are unpacked')
      expect(await remains()).toEqual([])
    })

    it('downloads that fill the disk of the engine are ended', { timeout: 600_000 }, async () => {
      const { agentId } = await home().start({ agentId: 'base' })
      const { Image } = await engine.docker.getContainer(sandboxName(home().homeId, agentId)).inspect()
      const container = await startBuildContainer(engine, {
        image: Image,
        homeTag: home().homeTag,
        program: 'setInterval(() => {}, 2 ** 30)',
        mounts: fetchMounts(home().briefingDirectory, home().homeTag),
        clock: systemClock,
        signal: new AbortController().signal,
      })
      onTestFinished(() => container.remove())
      const disk = await watchDisk(container, {
        folder: '/fetch',
        maxFiles: 100_000,
        maxBytes: 200 * 1024 ** 2,
        end: container.remove,
      })
      const script = 'while :; do head -c 50000000 /dev/zero > /fetch/$((n += 1)); sleep 0.2; done'
      const end = await container.run({ command: ['sh', '-c', script] }).then(
        ({ code }) => code,
        () => 'removed',
      )
      expect(end).not.toBe(0)
      expect(disk.whyFull()).toBe('take more than 200 MB of disk space')
      // The removal that the watch began.
      await container.remove()
      expect(await remains()).toEqual([])
    })

    it(
      'an install script finds no credential of the machine, changes nothing of the agent and leaves no process',
      { timeout: 600_000 },
      async () => {
        const registry = await openPrivateRegistry(pryingScript)
        onTestFinished(() => registry.close())
        const hostPlaces = { userFolder: registry.userFolder, variables: {} }
        const private_ = await home().again({ packages: { ...packageSources, hostPlaces } })
        onTestFinished(() => private_.close())
        const list = { apt: [], npm: ['@private/tool'], pip: [] }
        const { id, lock } = await private_.packages!.ensure(list, { lock: null, progress })
        expect(JSON.stringify(lock)).not.toContain(registry.token)
        expect(lock.npm_lock).not.toContain('127.77.')
        expect(registry.refused).toEqual([])
        const state = await home().start({ agentId: 'pried', image: id })
        const folder = '/opt/flotilla/packages/npm/node_modules/@private/tool'
        const { text } = await home().run(state, `cat ${folder}/found.txt; ls -ln ${folder}/found.txt`)
        expect(text).toMatch(/^65534\n/)
        expect(text).toContain('END')
        expect(text).not.toMatch(/WROTE|REACHED/)
        expect(text).not.toContain(registry.token)
        expect(text).toMatch(/ 0 0 \d+ .*found\.txt\s*$/)
        const places = 'cat /fetch/config/npmrc /root/.npmrc /usr/local/etc/npmrc 2>&1'
        expect((await home().run(state, places)).text).not.toContain(registry.token)
      },
    )

    it('the programs of each toolbox work in an agent', { timeout: 1_200_000 }, async () => {
      const list = joinPackages([{ toolboxes: [...toolboxNames], pip: ['six'] }])
      const { files, lock } = await images().resolve(list, {
        downloadMaxBytes: 1024 ** 3,
        timeoutMs: 10 * 60_000,
      })
      // npm does not download optional packages for other platforms.
      expect(files.filter(({ kind, bytes }) => bytes === null && kind !== 'npm')).toEqual([])
      const { id } = await images().ensure(list, { lock, progress })
      const state = await home().start({
        agentId: 'tooled',
        image: id,
        ...agentSize('worker', { memory_mb: 1024, cpus: 2, tmp_mb: 400 }),
      })
      const text = async (command: string) => (await home().run(state, command)).text.trim()
      expect(await text('pnpm --version && yarn --version')).toMatch(/^\d+\.\d+.*\n\d+\.\d+/)
      expect(await text('python3 -c "import six; print(six.PY3)"')).toBe('True')
      expect(await text('cd /data && python3 -m venv v && v/bin/python -m pip --version')).toContain(
        '/data/v/',
      )
      expect(
        await text(
          'mkdir -p /data/c && cd /data/c && printf "int main(){return 42;}" > x.c && printf "x: x.c\\n\\tcc -o x x.c\\n" > Makefile && make -s x && ./x; echo $?',
        ),
      ).toBe('42')
      expect(
        await text(
          'mkdir -p /data/g && cd /data/g && printf "package main\\nfunc main(){println(40+2)}" > m.go && go run m.go 2>&1; go env GOMODCACHE GOCACHE',
        ),
      ).toBe('42\n/data/go/pkg/mod\n/data/.cache/go-build')
    })

    it('a name that apt lacks is named', { timeout: 600_000 }, async () => {
      const list = { apt: ['no-such-package-here'], npm: [], pip: [] }
      await expect(images().ensure(list, { lock: null, progress })).rejects.toMatchObject({
        id: 'package-missing',
        message: expect.stringContaining('no-such-package-here'),
      })
    })
  },
  found,
)
