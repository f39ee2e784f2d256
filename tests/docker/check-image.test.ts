import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { startBuildContainer } from '../../packages/fleet/src/sandbox/packages/build-container.ts'
import { checkImage } from '../../packages/fleet/src/sandbox/packages/check-image.ts'
import { sandboxName } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'
import { engineOfThisMachine, packageSources, useDockerHome, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
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
        registriesFolder: home().briefingDirectory,
        forwarder: await readFile(join(packageSources.recipeDirectory, 'forward.cjs'), 'utf8'),
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
        lock: {
          lock_version: 1,
          architecture: engine.architecture,
          packages: {},
          apt: [],
          npm: [],
          pip: [],
          npm_lock: '',
        },
        delivered: new Map(),
      })
    }

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
