import process from 'node:process'
import { expect, it } from 'vitest'
import {
  engineOfThisMachine,
  openDockerHome,
  useDockerHome,
  withEngine,
} from '../../../../../tests/docker/sandbox-lane.ts'
import { agentCommand, volumeName } from '../hardening/container-options.ts'
import { sandboxRuntimeConformance, subjectHands } from '../sandbox-runtime.conformance.ts'
import { sandboxSizes } from '../default-agent-sizes.ts'
import { sandboxName } from '../sandbox-spec.ts'
import { patient } from '../../../../../tests/support/patience.ts'

const found = await engineOfThisMachine()
/** More than the four agents that start concurrently on two cores. */
const crowd = process.env['FLOTILLA_SOAK'] === '1' ? 20 : 6

withEngine(
  'docker runtime keeps its port',
  (engine) =>
    sandboxRuntimeConformance('docker', async () => {
      const home = await openDockerHome(engine)
      const { runtime, again, shareOf, close } = home
      return { runtime, again, shareOf, ...subjectHands, close }
    }),
  found,
)

withEngine(
  'docker runtime',
  (engine) => {
    const home = useDockerHome(engine)

    it('the docker runtime gives a container every wall that an agent must have', async () => {
      await home().start({ agentId: 'walled' })
      const inspected = await engine.docker.getContainer(sandboxName(home().homeId, 'walled')).inspect()
      const host = inspected.HostConfig
      expect(inspected.Config.User).toBe('1000:1000')
      expect(host).toMatchObject({
        ReadonlyRootfs: true,
        PidsLimit: 256,
        Memory: sandboxSizes.worker.memoryLimitBytes,
        MemorySwap: sandboxSizes.worker.memoryLimitBytes,
        CpuPeriod: 500_000,
        CpuQuota: 75_000,
        NanoCpus: 0,
        Init: true,
        IpcMode: 'none',
        Privileged: false,
        Dns: [home().runtime.listenHost()],
      })
      expect(host.RestartPolicy?.Name).toMatch(/^(no)?$/)
      expect(host.SecurityOpt).toContain('no-new-privileges')
      expect(host.Tmpfs?.['/tmp']).toMatch(/noexec,nosuid,nodev.*size=104857600/)
      expect(Object.keys(host.PortBindings ?? {})).toEqual([])
      expect(Object.fromEntries(inspected.Mounts.map((mount) => [mount.Destination, mount.RW]))).toEqual({
        '/briefing': false,
        '/data': true,
      })
      expect(inspected.Config.Labels).toMatchObject({
        'flotilla.home': home().homeTag,
        'flotilla.agent': 'walled',
      })
    })

    it('the docker runtime gives each agent a volume of its own that carries its labels', async () => {
      await home().start({ agentId: 'owner' })
      const volume = await engine.docker.getVolume(volumeName(home().homeId, 'owner')).inspect()
      expect(volume.Labels).toMatchObject({ 'flotilla.home': home().homeTag, 'flotilla.agent': 'owner' })
    })

    it('the docker runtime writes seed files as the agent, readable by no other user', async () => {
      const state = await home().start({ agentId: 'seeded', files: { '.flotilla/door-token': 'secret' } })
      const seen = await home().run(
        state,
        'stat -c "%u %g %a %F" /data /data/.flotilla /data/.flotilla/door-token',
      )
      expect(seen.text.trim().split('\n')).toEqual([
        '1000 1000 700 directory',
        '1000 1000 700 directory',
        '1000 1000 600 regular file',
      ])
    })

    it('the docker runtime starts the agent with the baked compile cache accepted', async () => {
      const state = await home().start({ agentId: 'cached' })
      const seen = await home().run(
        state,
        'FLOTILLA_PORT=8499 NODE_DEBUG_NATIVE=COMPILE_CACHE timeout 2 node --disable-sigusr1 --max-semi-space-size=1 /opt/flotilla/agent.cjs 2>&1 | grep -m1 "agent.cjs was"',
      )
      expect(seen.text).toContain('was accepted')
      expect(
        (await home().run(state, 'tr "\\0" " " < /proc/1/cmdline; echo; ps -o args= -C node')).text,
      ).toContain(agentCommand(sandboxSizes.worker.memoryLimitBytes).slice(1).join(' '))
    })

    it('the docker runtime distinguishes an agent killed for lack of memory from one whose program was killed', async () => {
      const ends: unknown[] = []
      const leave = home().runtime.onEnd((end) => ends.push(end))
      const state = await home().start({ agentId: 'hungry', memoryLimitBytes: 128 * 1024 * 1024 })
      const eat = `python3 -c "b=[bytearray(10**7) for _ in range(40)]"`
      expect((await home().run(state, eat)).code).toBe(137)
      expect(await home().runtime.inspect('hungry')).toMatchObject({ running: true })
      expect(ends).toEqual([])
      await subjectHands.eatMemory(state)
      await expect
        .poll(() => ends, { timeout: patient(20_000) })
        .toEqual([{ agentId: 'hungry', code: 137, outOfMemory: true }])
      leave()
    })

    it(`the docker runtime starts ${crowd} agents beside each other`, async () => {
      const ids = Array.from({ length: crowd }, (_, index) => `crowd-${index}`)
      const states = await Promise.all(ids.map((agentId) => home().start({ agentId })))
      expect(new Set(states.map((state) => state.address?.host)).size).toBe(crowd)
      await Promise.all(ids.map((agentId) => home().runtime.remove(agentId, { data: true })))
    })
  },
  found,
)
