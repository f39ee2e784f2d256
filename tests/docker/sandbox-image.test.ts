import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { applyRules } from '../../packages/fleet/src/sandbox/network/apply-rules.ts'
import {
  applyScript,
  chainOf,
  removeScript,
} from '../../packages/fleet/src/sandbox/network/agent-firewall.ts'
import { ensureAgentImage } from '../../packages/fleet/src/sandbox/image/agent-image.ts'
import { runCommand } from '../../packages/fleet/src/sandbox/run-command.ts'
import { runOnce } from '../../packages/fleet/src/sandbox/engine/run-once.ts'
import { writeSubject } from '../../packages/fleet/src/sandbox/sandbox-runtime.conformance.ts'
import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'
import { imageCaches } from './image-caches.ts'
import { engineOfThisMachine, withEngine } from './sandbox-lane.ts'
import { patient } from '../support/patience.ts'

const found = await engineOfThisMachine()
const root = fileURLToPath(new URL('../..', import.meta.url))
const labels = { 'flotilla.role': 'test' }

withEngine(
  'the agent image',
  (engine) => {
    let directory: string
    let bundlePath: string
    const steps: string[] = []

    beforeAll(async () => {
      directory = await mkdtemp(join(tmpdir(), 'flotilla-image-'))
      bundlePath = await writeSubject(directory)
    })
    afterAll(() => rm(directory, { recursive: true, force: true }))

    const ensure = () =>
      ensureAgentImage({
        engine,
        recipeDirectory: join(root, 'images', 'agent'),
        packageDirectory: root,
        bundle: [{ name: 'agent.cjs', path: bundlePath }],
        cacheDirectory: imageCaches,
        noInstall: true,
        homeId: 'home_of_image_test',
        volumesFolder: join(directory, 'volumes'),
        uid: process.getuid?.() ?? 0,
        clock: systemClock,
        progress: (step) => steps.push(step),
      })

    /** Runs a command in the image with the given host configuration. */
    const inside = async (
      command: string,
      host: Parameters<typeof runOnce>[1]['host'] = { NetworkMode: 'none' },
    ) => {
      const { reference } = await ensure()
      const done = await runOnce(engine, {
        image: reference,
        command: ['sh', '-c', command],
        labels,
        host,
        user: '1000:1000',
        timeoutMs: patient(60_000),
      })
      return done.output
    }

    it('the agent image holds the vector search that an agent’s memory loads', async () => {
      const said = await inside(
        `node -e "const d = new (require('node:sqlite').DatabaseSync)(':memory:', { allowExtension: true }); d.loadExtension('/opt/flotilla/parts/vec0.so'); console.log(d.prepare('select vec_version() v').get().v)"`,
      )
      expect(said).toMatch(/^v\d/)
    })

    it('an unchanged image is found without a step', async () => {
      const first = await ensure()
      steps.length = 0
      expect(await ensure()).toEqual({ ...first, built: false })
      expect(steps).toEqual([])
    })

    it('a changed bundle gives another image that runs it, and the old one stays', async () => {
      const before = await ensure()
      const subject = await readFile(bundlePath, 'utf8')
      await writeFile(bundlePath, `${subject}\n// ${process.pid}`)
      const after = await ensure()
      expect(after.built).toBe(true)
      expect(after.reference).not.toBe(before.reference)
      expect(await inside('tail -1 /opt/flotilla/agent.cjs')).toBe(`// ${process.pid}`)
      await engine.docker.getImage(after.reference).remove({ force: true })
      await writeFile(bundlePath, subject)
      expect(await ensure()).toEqual({ ...before, built: false })
    })

    it('the agent image gives the agent an empty home of its own and nothing that raises privileges', async () => {
      const said = await inside(
        'id -u; pwd; echo $HOME; stat -c "%u %a" /data; ls -A /data | wc -l; find / -xdev -perm /6000 -type f 2>/dev/null | wc -l',
      )
      expect(said.trim().split('\n')).toEqual(['1000', '/data', '/data', '1000 700', '0', '0'])
    })

    it('the profile for other processors lets node work and refuses ptrace and namespaces here too', async () => {
      const profile = await readFile(join(root, 'images', 'agent', 'seccomp-any.json'), 'utf8')
      const said = await inside(
        // Both outputs go into one stream, since the engine does not keep their order.
        'exec 2>&1; node -p 40+2; git --version; unshare --user true || echo refused; python3 -c "import ctypes; print(\'ptrace\', ctypes.CDLL(None).ptrace(16, 1, 0, 0))"; sleep 60 & prlimit --pid $! --nofile=4 || echo unlimited; kill -STOP $! || echo running; renice 9 $! || echo prompt; kill -CONT $! && kill $! && ulimit -n 64 && ulimit -n',
        { NetworkMode: 'none', CapDrop: ['ALL'], SecurityOpt: ['no-new-privileges', `seccomp=${profile}`] },
      )
      expect(said).toMatch(
        /42\ngit version[\s\S]*refused[\s\S]*ptrace -1[\s\S]*unlimited[\s\S]*running[\s\S]*prompt[\s\S]*64/,
      )
    })

    it('the agent image sets firewall rules from a helper container where the mesh is not root', async () => {
      const { reference } = await ensure()
      const bridge = 'flt-notroot0'
      const worker = { engine, image: reference, uid: 1000, homeTag: 'notroot0' }
      const rules = () =>
        runCommand('iptables', ['-w', '5', '-S', chainOf(bridge)], { timeoutMs: patient(10_000) })
      try {
        expect(
          await applyRules(worker, applyScript({ bridge, gateway: '10.64.0.1', meshPorts: [8420] })),
        ).toBe('container')
        expect((await rules()).stdout).toMatch(/--dport 8420 -j ACCEPT\n.*REJECT/)
      } finally {
        await applyRules(worker, removeScript(bridge))
      }
      expect((await rules()).code).not.toBe(0)
    })
  },
  found,
)
