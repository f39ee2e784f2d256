import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aCassette, says } from '../support/cassettes.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { startNameServer } from '../support/name-server.ts'
import type { NameServer } from '../support/name-server.ts'
import { startPackageSite } from '../support/package-site.ts'
import type { PackageSite } from '../support/package-site.ts'
import { patient } from '../support/patience.ts'
import { harnessSize, runInside, workerWithImage } from './harness-fleet.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'

const found = await engineOfThisMachine()
const host = 'packages.outside.test'

withEngine(
  'caches of package managers',
  () => {
    let mesh: MeshProcess
    let site: PackageSite
    let names: NameServer
    beforeAll(async () => {
      site = await startPackageSite(host)
      await site.addCrateIndex()
      names = await startNameServer((name) => (name === host ? ['127.0.0.1'] : null))
      mesh = await startMesh({
        runtime: 'docker',
        cassettes: { idle: aCassette({ when: 'nothing', turns: [says('Nothing.')] }) },
        settings: {
          egress: {
            dns_servers: [`127.0.0.1:${names.port}`],
            allowed_private: [`${host}:${site.tlsPort}`],
          },
          agents: { builder: { size: harnessSize, packages: { apt: ['cargo', 'python3-pip'] } } },
        },
      })
      await workerWithImage(mesh, 'builder', { model: 'scripted/idle' })
      await mesh.call(meshHumanEndpoints.fileWrite, {
        params: { id: 'builder', path: 'site.pem' },
        body: new Uint8Array(Buffer.from(site.certificate)),
      })
    }, patient(1_200_000))
    afterAll(async () => {
      await mesh?.stop()
      await site?.close()
      names?.close()
    })

    const inside = (command: string) => runInside(mesh, 'builder', command)
    const url = () => `https://${host}:${site.tlsPort}`
    const restart = () => mesh.call(meshHumanEndpoints.agentRestart, { params: { id: 'builder' } })
    /** Returns the paths that a program asks for. */
    const asked = async (command: string) => {
      const { length } = site.requests
      const said = await inside(command)
      return { said, paths: site.requests.slice(length).map((request) => request.url) }
    }

    it('pip installs a wheel from its cache after a restart, and asks only for the index', async () => {
      const install = (target: string) =>
        `pip install -q --disable-pip-version-check --cert /data/site.pem --index-url ${url()}/simple/ --target ${target} far-wheel 2>&1; PYTHONPATH=${target} python3 -c "import far_wheel; print(far_wheel.said)"`
      const first = await asked(install('one'))
      expect(first.said).toContain('installed from outside')
      expect(first.paths).toContain('/far_wheel-1.0-py3-none-any.whl')
      await restart()
      const second = await asked(install('two'))
      expect(second.said).toContain('installed from outside')
      expect(second.paths).toEqual(['/simple/far-wheel/'])
      expect(await inside('ls /data/.cache/pip')).toContain('http')
    })

    it('cargo builds from its cache after a restart, without a request', async () => {
      const project = [
        'mkdir -p crate/src crate/.cargo && cd crate',
        `printf '[source.crates-io]\\nreplace-with = "far"\\n[source.far]\\nregistry = "${url()}/crates.git"\\n[http]\\ncainfo = "/data/site.pem"\\n' > .cargo/config.toml`,
        `printf '[package]\\nname = "near"\\nversion = "0.1.0"\\nedition = "2021"\\n[dependencies]\\nfar-crate = "1"\\n' > Cargo.toml`,
        `echo 'fn main() { println!("{}", far_crate::SAID) }' > src/main.rs`,
        'cargo fetch 2>&1 && echo fetched',
      ]
      const first = await asked(project.join('\n'))
      expect(first.said).toContain('fetched')
      expect(first.paths).toContain('/crates/far-crate-1.0.0')
      await restart()
      const second = await asked('cd crate && cargo run --offline -q 2>&1; ls /data/.cargo/registry/cache')
      expect(second.said).toMatch(/from outside\n/)
      expect(second.paths).toEqual([])
    })
  },
  found,
)
