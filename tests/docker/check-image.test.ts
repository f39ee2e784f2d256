import { expect, it, onTestFinished } from 'vitest'
import { startBuildContainer } from '../../packages/fleet/src/sandbox/packages/build-container.ts'
import { fetchMounts } from '../../packages/fleet/src/sandbox/packages/build-mounts.ts'
import { checkImage } from '../../packages/fleet/src/sandbox/packages/check-image.ts'
import { withInstalled } from '../../packages/fleet/src/sandbox/packages/install-packages.ts'
import type { PackageLock } from '../../packages/fleet/src/sandbox/package-lock.ts'
import { sandboxName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { tarDirectory, tarFile } from '../../packages/fleet/src/sandbox/tar-archive.ts'
import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'
import { engineOfThisMachine, useDockerHome, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const idleProgram = 'setInterval(() => {}, 2 ** 30)'
const noPackages: PackageLock = {
  lock_version: 1,
  architecture: 'x64',
  packages: {},
  apt: [],
  npm: [],
  pip: [],
  npm_lock: '',
}
/** In one process, because no other one can start without the folder. */
const moveLibraries = `
  const { cpSync, rmSync, symlinkSync } = require("fs")
  cpSync("/usr/lib64", "/srv/lib64", { recursive: true })
  rmSync("/usr/lib64", { recursive: true })
  symlinkSync("/srv/lib64", "/usr/lib64")`

withEngine(
  'what programs of packages may change',
  (engine) => {
    const home = useDockerHome(engine)
    let base: Promise<string> | null = null

    /** Returns the id of the agent image, from an agent that runs in it. */
    async function agentImage(): Promise<string> {
      const { agentId } = await home().start({ agentId: 'base' })
      return (await engine.docker.getContainer(sandboxName(home().homeId, agentId)).inspect()).Image
    }

    /** Runs the script as root in the agent image, and checks the files as those of a build. */
    async function checkedAfter(script: string): Promise<void> {
      base ??= agentImage()
      const container = await startBuildContainer(engine, {
        image: await base,
        homeTag: home().homeTag,
        program: idleProgram,
        mounts: [],
        clock: systemClock,
        signal: new AbortController().signal,
      })
      onTestFinished(() => container.remove())
      const done = await container.run({ command: ['sh', '-ec', script] })
      expect(done).toMatchObject({ code: 0 })
      await container.stop()
      await checkImage({
        changed: container.changed,
        files: container.files(),
        lock: { ...noPackages, architecture: engine.architecture },
        delivered: new Map(),
      })
    }

    /** Runs the script as the installation of packages, and returns what it printed. Rejects as a build does. */
    async function installedBy(script: string, filesMax: number): Promise<string> {
      base ??= agentImage()
      const ofHome = { homeTag: home().homeTag, clock: systemClock, signal: new AbortController().signal }
      const fetched = await startBuildContainer(engine, {
        ...ofHome,
        image: await base,
        program: idleProgram,
        mounts: fetchMounts(home().briefingDirectory, home().homeTag),
      })
      onTestFinished(() => fetched.remove())
      const owner = { uid: 0, mode: 0o755 }
      await fetched.put('/fetch', [
        tarDirectory('recipe', owner),
        tarFile(
          'recipe/install.sh',
          Buffer.from(`#!/bin/sh\n(${script}) > /result.txt 2>&1 || true\n`),
          owner,
        ),
        tarFile('recipe/list.sh', Buffer.from('#!/bin/sh\n'), owner),
      ])
      const { homeId } = home()
      const of = {
        base: { engine, image: await base },
        fetched: { container: fetched, lock: noPackages },
        signal: ofHome.signal,
        filesMax,
      }
      return withInstalled({ homeId, clock: systemClock }, of, async (made) =>
        String(await made.read('/result.txt', 100_000)),
      )
    }

    it(
      'programs that run as root cannot fill the volume of the downloads',
      { timeout: 120_000 },
      async () => {
        const text = await installedBy(
          'id -u; touch /fetch/x; rm /fetch/recipe/list.sh; mount -o remount,rw /fetch; touch /fetch/recipe/x; cat /registries/proxy.sock',
          100_000,
        )
        expect(text).toMatch(/^0\n/)
        expect(text.match(/Read-only file system/g)).toHaveLength(3)
        expect(text).toMatch(/\/registries\/proxy.sock/)
      },
    )

    it('an installation that makes too many files is ended while it runs', { timeout: 120_000 }, async () => {
      const make =
        'const { writeFileSync, mkdirSync } = require("fs"); for (let n = 0; ; n++) { if (n % 1000 === 0) mkdirSync("/var/d" + n / 1000); writeFileSync("/var/d" + Math.floor(n / 1000) + "/" + n, "") }'
      await expect(installedBy(`node -e '${make}'`, 20_000)).rejects.toMatchObject({
        id: 'packages-failed',
        message: expect.stringContaining('more than 20000 files'),
      })
      const label = [`flotilla.home=${home().homeTag}`, 'flotilla.role=packages']
      const left = await engine.docker.listContainers({ all: true, filters: { label } })
      // The container of the downloads, which the test itself removes.
      expect(left).toHaveLength(1)
    })

    it('ordinary changes are accepted', { timeout: 120_000 }, async () => {
      const script =
        'mkdir -p /opt/flotilla/packages/npm /usr/local/share/x; echo x > /usr/local/bin/x; ldconfig; rm -r /var/tmp; ln -s /tmp /var/tmp'
      await expect(checkedAfter(script)).resolves.toBeUndefined()
    })

    it.each<[string, string, string]>([
      [
        'a link in place of a folder of the PATH',
        'the folder /usr/local/sbin',
        'mkdir /srv/s; cp /bin/true /srv/s/node; rmdir /usr/local/sbin; ln -s /srv/s /usr/local/sbin',
      ],
      ['a link in place of a folder of libraries', 'the folder /usr/lib64', `node -e '${moveLibraries}'`],
      ['a link in place of the folder of data', 'the folder /data', 'rmdir /data; ln -s /opt/flotilla /data'],
      [
        'a hard link as the cache of the loader',
        '/etc/ld.so.cache by a link',
        'rm -f /etc/ld.so.cache; echo x > /etc/aaa; ln /etc/aaa /etc/ld.so.cache',
      ],
      [
        'a joined line of OpenSSL',
        'how Node starts, in /etc/ssl/openssl.cnf',
        "printf 'nodejs\\\\\\n_conf = x\\n' >> /etc/ssl/openssl.cnf",
      ],
    ])('%s is refused', { timeout: 120_000 }, async (_, words, script) => {
      await expect(checkedAfter(script)).rejects.toMatchObject({
        id: 'packages-refused',
        message: expect.stringContaining(words),
      })
    })
  },
  found,
)
